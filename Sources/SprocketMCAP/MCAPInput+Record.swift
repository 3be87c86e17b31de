// Whole records of a file.

extension MCAPInput {
  /// The opcode and the length of the record at `offset`, at most `size`; `nil` where the file ends
  /// within it. `raw` is working memory.
  func head(
    at offset: UInt64, _ raw: inout MCAPBytes
  ) throws(MCAPError) -> (opcode: UInt8, length: UInt64)? {
    let headerSize = UInt64(MCAPFormat.recordHeaderSize)
    guard size - offset >= headerSize else { return nil }
    try read(offset, MCAPFormat.recordHeaderSize, into: &raw)
    let bytes = unsafe Span(_unsafeElements: raw.elements)
    var cursor = MCAPCursor(0..<bytes.count)
    guard let opcode = cursor.take(UInt8.self, of: bytes), opcode != 0,
      let length = cursor.take(UInt64.self, of: bytes)
    else { throw damaged(offset) }
    if length > size - offset - headerSize {
      // A file that has its end was not cut off.
      let magic = UInt64(MCAPFormat.magic.count)
      if size - offset >= headerSize + magic, try hasMagic(at: size - magic, &raw) {
        throw damaged(offset)
      }
      return nil
    }
    return (opcode, length)
  }

  /// Makes `raw` the whole record, with its head.
  func readRecord(
    at offset: UInt64, _ length: UInt64, into raw: inout MCAPBytes
  ) throws(MCAPError) {
    guard length <= UInt64(MCAPReader.limit) else {
      throw MCAPError(
        .format, "\(path) has a record of \(length) bytes at byte \(offset); 1 GiB is read at most")
    }
    try read(offset, MCAPFormat.recordHeaderSize + Int(length), into: &raw)
  }

  func record(at offset: UInt64, _ raw: inout MCAPBytes) throws(MCAPError) -> MCAPRecord {
    guard offset <= size, let (opcode, length) = try head(at: offset, &raw) else {
      throw damaged(offset)
    }
    try readRecord(at: offset, length, into: &raw)
    guard let record = Self.decode(opcode, raw) else { throw damaged(offset) }
    return record
  }

  /// The record that `raw` is.
  static func decode(_ opcode: UInt8, _ raw: borrowing MCAPBytes) -> MCAPRecord? {
    let bytes = unsafe Span(_unsafeElements: raw.elements)
    return MCAPRecord(opcode, bytes, MCAPFormat.recordHeaderSize..<bytes.count)
  }

  func hasMagic(at offset: UInt64, _ raw: inout MCAPBytes) throws(MCAPError) -> Bool {
    let magic = MCAPFormat.magic
    guard size >= UInt64(magic.count) else { return false }
    try read(offset, magic.count, into: &raw)
    return unsafe raw.elements.elementsEqual(magic)
  }

  func damaged(_ offset: UInt64) -> MCAPError {
    MCAPError(.damaged, "\(path) is damaged at byte \(offset); copy it anew")
  }
}
