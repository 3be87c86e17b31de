// Over the file from record to record.

extension MCAPReader {
  /// Finds chunks, their indexes, schemas and channels. Stops at the first record that is not
  /// whole.
  mutating func walk() throws(MCAPError) {
    let magic = MCAPFormat.magic
    guard size >= UInt64(magic.count) else { throw notMCAP }
    try input.read(0, magic.count, into: &raw)
    guard unsafe raw.elements.elementsEqual(magic) else { throw notMCAP }
    wholeSize = UInt64(magic.count)
    while !isComplete, try walkRecord() {}
    if !isComplete, try endsAsAWholeFile() { damagedAt = wholeSize }
    try findDefinitions()
  }

  /// Whether the end of the file is there, whatever is before it.
  private mutating func endsAsAWholeFile() throws(MCAPError) -> Bool {
    let magic = MCAPFormat.magic
    guard size - wholeSize >= UInt64(magic.count) else { return false }
    try input.read(size - UInt64(magic.count), magic.count, into: &raw)
    return unsafe raw.elements.elementsEqual(magic)
  }

  private var notMCAP: MCAPError {
    MCAPError(.format, "\(path) is no MCAP file; give a dump that Sprocket wrote")
  }

  /// False where the file ends, or no longer makes sense.
  private mutating func walkRecord() throws(MCAPError) -> Bool {
    let headerSize = UInt64(MCAPFormat.recordHeaderSize)
    guard size - wholeSize >= headerSize else { return false }
    try input.read(wholeSize, MCAPFormat.recordHeaderSize, into: &raw)
    let header = unsafe Span(_unsafeElements: raw.elements)
    var cursor = MCAPCursor(0..<header.count)
    guard let opcode = cursor.take(UInt8.self, of: header), opcode != 0,
      let length = cursor.take(UInt64.self, of: header), length <= size - wholeSize - headerSize
    else { return false }
    let content = wholeSize + headerSize
    switch opcode {
    case MCAPOpcode.chunk:
      guard try walkChunk(content, length) else { return false }
    case MCAPOpcode.messageIndex: try walkIndex(content, length)
    case MCAPOpcode.schema, MCAPOpcode.channel:
      guard length <= UInt64(Self.limit) else { return false }
      try input.read(content, Int(length), into: &raw)
      define(opcode, 0..<Int(length), of: unsafe Span(_unsafeElements: raw.elements))
    case MCAPOpcode.message:
      guard length <= UInt64(Self.limit) else { return false }
      // As if it were a chunk of its own.
      let record = MCAPFormat.recordHeaderSize + Int(length)
      chunks.append(
        MCAPChunkPlace(
          offset: wholeSize, compressedSize: record, compression: .none, checksum: 0, size: record))
    case MCAPOpcode.footer:
      isComplete = true
    default: break
    }
    wholeSize = content + length
    return true
  }

  /// Bytes of a chunk's record that are read for its header. Larger: longer compression names are accepted;
  /// known ones have 4 letters.
  private static let chunkHeaderLimit: UInt64 = 256

  private mutating func walkChunk(_ offset: UInt64, _ length: UInt64) throws(MCAPError) -> Bool {
    try input.read(offset, Int(min(length, Self.chunkHeaderLimit)), into: &raw)
    let header = unsafe Span(_unsafeElements: raw.elements)
    var cursor = MCAPCursor(0..<header.count)
    guard cursor.take(16, of: header) != nil, let count = cursor.take(UInt64.self, of: header),
      let checksum = cursor.take(UInt32.self, of: header),
      let name = cursor.takeString(of: header),
      let compressed = cursor.take(UInt64.self, of: header),
      compressed <= length - UInt64(cursor.position), compressed <= UInt64(Self.limit),
      count <= UInt64(Self.limit)
    else { return false }
    let compression: MCAPChunkPlace.Compression =
      switch name {
      case "": .none
      case "lz4": .lz4
      case "zstd": .zstd
      default: .other
      }
    chunks.append(
      MCAPChunkPlace(
        offset: offset + UInt64(cursor.position), compressedSize: Int(compressed),
        compression: compression, checksum: checksum, size: Int(count)))
    return true
  }

  private mutating func walkIndex(_ offset: UInt64, _ length: UInt64) throws(MCAPError) {
    guard length >= 6, !chunks.isEmpty else { return }
    try input.read(offset, 6, into: &raw)
    let header = unsafe Span(_unsafeElements: raw.elements)
    var cursor = MCAPCursor(0..<6)
    guard let channel = cursor.take(UInt16.self, of: header),
      let count = cursor.take(UInt32.self, of: header), UInt64(count) <= length - 6,
      // Each entry stands for at least 31 bytes of the chunk: a larger count is wrong.
      Int(count) / 16 * MCAPMessage.overhead <= chunks[chunks.count - 1].size
    else { return }
    chunks[chunks.count - 1].indexes.append((channel, offset + 6, Int(count) / 16))
  }

  /// Longest schema or channel that is kept, in bytes. Larger: hostile files take more memory; usual ones
  /// have some thousands. A chunk of a
  /// few compressed kilobytes can define all 65,536 numbers, with a gigabyte of text.
  private static let definitionLimit = 1 << 20
  /// Limit for all schemas and channels that are kept, in bytes: far more than any program writes.
  private static let definitionsLimit = 1 << 26

  private mutating func define(_ opcode: UInt8, _ content: Range<Int>, of bytes: Span<UInt8>) {
    guard content.count <= Self.definitionLimit,
      definitionBytes + content.count <= Self.definitionsLimit
    else { return }
    if opcode == MCAPOpcode.schema, let schema = MCAPSchema(bytes, content) {
      guard schemas.updateValue(schemas[schema.id] ?? schema, forKey: schema.id) == nil else {
        return
      }
    } else if opcode == MCAPOpcode.channel, let channel = MCAPChannel(bytes, content) {
      guard channels.updateValue(channels[channel.id] ?? channel, forKey: channel.id) == nil else {
        return
      }
    }
    definitionBytes += content.count
  }

  /// Reads the definitions within chunks: a file that was cut off may have them nowhere else.
  private mutating func findDefinitions() throws(MCAPError) {
    for index in chunks.indices {
      let indexes = chunks[index].indexes
      let isKnown =
        indexes.isEmpty
        ? isComplete && !channels.isEmpty : indexes.allSatisfy { channels[$0.channel] != nil }
      if isKnown { continue }
      guard try loadOrCut(index) else { return }
      let bytes = unsafe Span(_unsafeElements: content.elements)
      var cursor = MCAPCursor(0..<bytes.count)
      while let record = cursor.takeRecord(of: bytes) {
        define(record.opcode, record.content, of: bytes)
      }
    }
  }

  /// Loads a chunk. A damaged chunk counts as the end of the file: then `damagedAt` is set, and the
  /// result is false.
  public mutating func loadOrCut(_ index: Int) throws(MCAPError) -> Bool {
    do throws(MCAPError) {
      try load(index)
      return true
    } catch {
      guard error.code == .damaged else { throw error }
      wholeSize = chunks[index].offset
      damagedAt = wholeSize
      chunks.removeSubrange(index...)
      isComplete = false
      return false
    }
  }
}
