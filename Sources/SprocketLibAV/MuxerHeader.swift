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
