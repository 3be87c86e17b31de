internal import SprocketCodecs
internal import SprocketCore
internal import SprocketLibAV
internal import SprocketTimes

// Reading the next frame.

extension FileSource {
  /// Reads the next frame, so that it is held; at the end, none is.
  func read() throws(MediaError) {
    guard reader != nil else { return }
    if staysEncoded { try readPacket() } else { try readPicture() }
    lastTime = held?.time ?? lastTime
  }

  private func readPacket() throws(MediaError) {
    while let next = try reader!.nextPacket() {
      let isEmpty = unsafe next.bytes.isEmpty
      // Whoever asks for numbers asks for this one, too.
      if isEmpty, asked == nil {
        place += 1
        continue
      }
      return hold(next)
    }
  }

  /// Checks a packet, which is then the held frame.
  func hold(_ next: consuming EncodedPacket) {
    do {
      let bytes = unsafe Span(_unsafeElements: next.bytes)
      var frame = Held(time: next.timeNanoseconds, isCorrupt: next.isCorrupt)
      if let header = damage.check(bytes, fullHeight: reader?.info.height) {
        frame.format = header.image.map {
          header.described(
            encodedFormat(width: header.width, height: header.height, image: $0),
            unsaid: FieldOrder(reader?.info.firstField ?? .topFirst))
        }
        // A single field, where frames have two, is an incomplete frame.
        if let format, format.hasFieldImages, !header.isFieldPair, header.height < format.height {
          (frame.isCorrupt, frame.format) = (true, nil)
        }
        // The file's other packets can be unpacked, and this one cannot.
        if frame.format == nil, format != nil { frame.isCorrupt = true }
      } else {
        frame.isCorrupt = true
      }
      packet = consume next
      held = frame
    }
  }

  private func readPicture() throws(MediaError) {
    let found = try reader!.nextFrame { isMJPEG && !damage.isDecodable($0) }
    switch consume found {
    case .frame(let frame): hold(frame)
    case .corrupt:
      let time = lastTime.map { min($0 + rate.frameNanoseconds, TimeGate.limit) } ?? 0
      held = Held(time: time, isCorrupt: true)
    case .end: return
    }
  }

  func hold(_ frame: consuming DecodedFrame) {
    hasTransparency = reader?.hasTransparency ?? false
    presentation.learn(from: frame, isFirst: lastTime == nil, header: reader?.info.display)
    held = Held(
      time: frame.timeNanoseconds, isCorrupt: frame.isCorrupt,
      format: FrameFormat(
        pixelFormat: frame.format, width: frame.width, height: frame.height,
        color: Color(frame.color, frame.format), rate: rate, presentation: presentation))
    picture = consume frame
  }
}
