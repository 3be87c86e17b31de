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
  /// Makes a MOV or MP4 a plain file. One that is streamed stays fragments.
  mutating func finishQuickTime(_ nominalTicks: Int64?) throws(MuxerError) {
    picture?.close(nominal: nominalTicks.map { UInt64(max(1, $0)) })
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
    let end = bridge.end
    guard bridge.write(index.span, at: end), bridge.sync() else { throw .output }
    var patch: [UInt8] = [0, 0, 0, 1] + Array("mdat".utf8)
    let size = UInt64(end - Int64(header.freeOffset))
    patch += (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) }
    guard bridge.write(patch.span, at: Int64(header.freeOffset)) else { throw .output }
  }
}
