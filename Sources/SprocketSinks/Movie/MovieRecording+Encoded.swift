internal import SprocketCodecs
internal import SprocketCore
internal import SprocketLibAV
internal import SprocketPixels

// Pictures that an encoder makes.
extension MovieRecording {
  /// The next pictures have that format.
  func take(pictures image: PixelFormat) throws(RunError) {
    self.image = image
    do throws(EncoderError) { try encoder?.take(image) } catch { throw fail(.encoder(error)) }
  }

  /// Encodes the frame's picture.
  func write(picture: borrowing ImageView, _ record: FrameRecord) throws(RunError) {
    let tick = try advance(record)
    try picture.withPlanes { (luma, blue, red) throws(RunError) in
      try encode(luma, blue, red, tick)
    }
    try noteWritten()
  }

  /// Encodes a picture whose planes lie one behind the other.
  func write(
    planes bytes: Span<UInt8>, of format: FrameFormat, _ record: FrameRecord
  ) throws(RunError) {
    let tick = try advance(record)
    let isWhole = try format.withPlanes(of: bytes) { (luma, blue, red) throws(RunError) in
      try encode(luma, blue, red, tick)
    }
    guard isWhole else {
      throw RunError(
        .failed,
        "a picture of \(format.width)x\(format.height) came with \(bytes.count) bytes, which are too few; "
          + "record again")
    }
    try noteWritten()
  }

  /// Encodes a picture that was kept as JPEG.
  func write(kept image: Span<UInt8>, _ record: FrameRecord) throws(RunError) {
    let tick = try advance(record)
    let isWhole = try encoding?.kept?.withPlanes(of: image) { (luma, blue, red) throws(RunError) in
      try encode(luma, blue, red, tick)
    }
    guard isWhole == true else {
      throw RunError(.failed, "a picture of the pre-roll is damaged; record again")
    }
    try noteWritten()
  }

  /// Behind a long pause another encoder begins, with a key picture.
  private func resume(at tick: Int64) throws(RunError) {
    guard encoder == nil, let encoding else { return }
    do throws(RunError) {
      encoder = try encoding.take(container)
    } catch {
      throw fail(error)
    }
    guard let made = encoder else { return }
    firstTick = constant == nil ? tick : 0
    do throws(EncoderError) {
      if let image { try made.take(image) }
    } catch {
      throw fail(.encoder(error))
    }
    muxer?.goOn(with: made, from: firstTick)
  }

  /// A pause that is so long that another encoder begins behind it. Statistics of two passes are of one.
  func pauseEncoder() throws(RunError) {
    if constant == nil, encoding?.isOfTwoPasses == false { try drainEncoder() }
  }

  private func encode(
    _ luma: PlaneBytes, _ blue: PlaneBytes?, _ red: PlaneBytes?, _ tick: Int64
  ) throws(RunError) {
    try resume(at: tick)
    if let place = try place(tick) {
      for picture in place.repeats { try encodeHeld(picture) }
      do throws(EncoderError) { try encoder?.hold(luma, blue, red) } catch {
        throw fail(.encoder(error))
      }
      if let picture = place.picture { try encodeHeld(picture) }
    } else {
      let gap = nominalTicks ?? lastGap
      do throws(EncoderError) {
        try encoder?.send(luma, blue, red, tick: tick - firstTick, gap: gap)
      } catch {
        throw fail(.encoder(error))
      }
      try writeEncoded()
    }
  }

  /// Encodes the picture that the encoder holds, as that picture of a movie of constant rate.
  private func encodeHeld(_ picture: Int64) throws(RunError) {
    do throws(EncoderError) {
      try encoder?.sendHeld(
        tick: constant?.tick(of: picture) ?? picture, gap: nominalTicks ?? lastGap)
    } catch {
      throw fail(.encoder(error))
    }
    try writeEncoded()
  }

  private func writeEncoded() throws(RunError) {
    do throws(MuxerError) {
      try muxer?.writeEncoded(gap: nominalTicks ?? lastGap)
    } catch {
      throw fail(error)
    }
    try addSound()
  }

  /// Adds the sound up to the last picture that the encoder gave out.
  private func addSound() throws(RunError) {
    guard let tick = muxer?.pictureTick else { return }
    try addLines(upTo: tick)
    for index in backlogs.indices {
      let format = tracks[index].format
      let sample = Double(tick) / Double(container.ticksPerSecond) * Double(format.rate)
      let due = Int(sample) * format.sampleBytes - backlogs[index].takenCount
      try backlogs[index].take(max(0, due)) { (bytes) throws(RunError) in
        try add(sound: bytes, index)
      }
    }
  }

  /// Writes the pictures that the encoder still has. The last one lasts `gap` ticks.
  func drainEncoder(gap: Int64? = nil) throws(RunError) {
    guard let encoder else { return }
    do throws(EncoderError) { try encoder.end() } catch { throw fail(.encoder(error)) }
    do throws(MuxerError) {
      try muxer?.writeEncoded(gap: gap ?? nominalTicks ?? lastGap)
    } catch {
      throw fail(error)
    }
    do throws(MuxerError) { try muxer?.endEncoder() } catch { throw fail(error) }
    self.encoder = nil
    try addLines()
    for index in backlogs.indices {
      try backlogs[index].take(.max) { (bytes) throws(RunError) in try add(sound: bytes, index) }
    }
  }
}
