internal import CSprocketLibAV

/// What a MOV or MP4 begins with while it is recorded.
struct Header {
  /// The index that it is recorded with.
  let index: [UInt8]
  /// Where `free` is in the file.
  let freeOffset: Int

  /// For an MKV, which needs none.
  init() { (index, freeOffset) = ([], 0) }

  /// Writes the header that the library made, and 16 bytes of `free` before its index.
  init(_ bridge: MuxerBridge) throws(MuxerError) {
    let free = [0, 0, 0, 16] + Array("free".utf8) + [UInt8](repeating: 0, count: 8)
    let made = bridge.takeBack()
    guard let kind = Atom.first(in: made.span, 0..<made.count), kind.is("ftyp") else {
      throw .refused(operation: "avformat_write_header", status: 0)
    }
    freeOffset = kind.range.upperBound
    index = MovieIndex.describe(text: TextTrack.type, in: Array(made[freeOffset...]))
    let all = made[..<freeOffset] + free + index
    guard bridge.writeInstead(all) else { throw .output }
  }
}

extension Muxer {
  /// Ends the file and makes it plain. The last frame lasts up to tick `end` if that is given, and else
  /// `nominalTicks`, or as long as the one before it. What a MOV or MP4 has behind `end` is not shown.
  /// Cost: in proportion to the number of frames.
  ///
  /// The corresponding C function, for MKV, is `av_write_trailer`.
  public mutating func finish(nominalTicks: Int64?, end: Int64? = nil) throws(MuxerError) {
    for track in sounds.indices {
      unsafe try sounds[track].encoder?.finish { packet, first throws(MuxerError) in
        unsafe try append(packet, at: first, track)
      }
    }
    try writeHeld()
    try flush()
    durableFrames = picture?.count ?? 0
    if container.isQuickTime {
      try finishQuickTime(nominalTicks, end)
    } else {
      let status = unsafe libav.av_write_trailer(handle.context)
      try handOn(status, "av_write_trailer")
      if let end { pastEnd.shown = picture?.cut(at: end) ?? 0 }
      for track in sounds.indices { sounds[track].durable = sounds[track].samples }
    }
  }

  /// Ends all tracks at tick `end`. Sound that ends within a sample of it stays as it is.
  private mutating func cut(at end: Int64) {
    let pictures = picture?.cut(at: end) ?? 0
    pastEnd = bridge.isStream ? (0, pictures) : (pictures, 0)
    _ = text?.table.cut(at: end)
    for track in sounds.indices {
      let sample = sounds[track].sample(at: end, per: container.ticksPerSecond)
      guard sounds[track].samples > UInt64(clamping: sample) + 1 else { continue }
      _ = sounds[track].table.cut(at: sample)
      sounds[track].table.close(nominal: nil, end: sample)
    }
  }

  /// Makes a MOV or MP4 a plain file. One that is streamed stays fragments.
  mutating func finishQuickTime(
    _ nominalTicks: Int64?, _ end: Int64?
  ) throws(MuxerError) {
    if let end { cut(at: end) }
    picture?.close(nominal: nominalTicks.map { UInt64(max(1, $0)) }, end: end)
    for track in sounds.indices {
      sounds[track].table.close(nominal: UInt64(max(0, sounds[track].lastLength)))
    }
    text?.table.close(nominal: nil)
    let tables = tables
    guard !bridge.isStream, tables.allSatisfy(\.fitsIndex) else { return }
    guard let index = MovieIndex.make(from: header.index.span, tables: tables) else {
      throw .refused(operation: "avformat_write_header", status: 0)
    }
    // On the disk in this order, too: the header of `mdat` hides the fragments.
    let fileEnd = bridge.end
    guard bridge.write(index.span, at: fileEnd), bridge.sync() else { throw .output }
    var patch: [UInt8] = [0, 0, 0, 1] + Array("mdat".utf8)
    let size = UInt64(fileEnd - Int64(header.freeOffset))
    patch += (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) }
    guard bridge.write(patch.span, at: Int64(header.freeOffset)) else { throw .output }
  }
}
