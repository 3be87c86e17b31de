// Over the file from record to record.

extension MCAPReader {
  /// Finds chunks, their indexes, schemas and channels. Stops at the first record that is not
  /// whole.
  mutating func walk() throws(MCAPError) {
    guard try input.hasMagic(at: 0, &raw) else { throw input.notMCAP }
    wholeSize = UInt64(MCAPFormat.magic.count)
    while !isComplete, try walkRecord() {}
    if !isComplete, try endsAsAWholeFile() { damagedAt = wholeSize }
    // Of the last chunk's indexes some may be cut off. Without any, it is looked through.
    if !isComplete, !chunks.isEmpty { chunks[chunks.count - 1].indexes = [] }
    try findDefinitions()
  }

  /// Whether the end of the file is there, whatever is before it.
  private mutating func endsAsAWholeFile() throws(MCAPError) -> Bool {
    let magic = UInt64(MCAPFormat.magic.count)
    guard size - wholeSize >= magic else { return false }
    return try input.hasMagic(at: size - magic, &raw)
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
      if isInSummary {
        if opcode == MCAPOpcode.schema { repeatsSchemas = true } else { repeatsChannels = true }
      }
    case MCAPOpcode.dataEnd: isInSummary = true
    case MCAPOpcode.message:
      guard length <= UInt64(Self.limit) else { return false }
      // As if it were a chunk of its own.
      let record = MCAPFormat.recordHeaderSize + Int(length)
      chunks.append(
        MCAPChunkPlace(
          offset: wholeSize, compressedSize: record, compression: .none, checksum: 0, size: record,
          isMessage: true))
    case MCAPOpcode.header, MCAPOpcode.attachment, MCAPOpcode.metadata:
      guard try walkOther(opcode, content, length) else { return false }
    case MCAPOpcode.footer:
      isComplete = true
    default: break
    }
    wholeSize = content + length
    return true
  }

  /// Bytes of a chunk's record that are read for its header. Larger: longer compression names are accepted;
  /// known ones have 4 letters.
  static let chunkHeaderLimit: UInt64 = 256

  private mutating func walkChunk(_ offset: UInt64, _ length: UInt64) throws(MCAPError) -> Bool {
    try input.read(offset, Int(min(length, Self.chunkHeaderLimit)), into: &raw)
    let header = unsafe Span(_unsafeElements: raw.elements)
    guard let place = MCAPChunkPlace(header, at: offset, length: length) else { return false }
    chunks.append(place)
    return true
  }

  private mutating func walkIndex(_ offset: UInt64, _ length: UInt64) throws(MCAPError) {
    guard !chunks.isEmpty, !chunks[chunks.count - 1].hasBrokenIndex else { return }
    try input.read(offset, Int(min(length, 6)), into: &raw)
    let header = unsafe Span(_unsafeElements: raw.elements)
    var cursor = MCAPCursor(0..<header.count)
    guard let channel = cursor.take(UInt16.self, of: header),
      let count = cursor.take(UInt32.self, of: header), UInt64(count) <= length - 6,
      // Each entry stands for at least 31 bytes of the chunk: a larger count is wrong.
      Int(count) / 16 * MCAPMessage.overhead <= chunks[chunks.count - 1].size
    else {
      // It is looked through instead: with the other indexes alone, messages would be missing.
      chunks[chunks.count - 1].indexes = []
      chunks[chunks.count - 1].hasBrokenIndex = true
      return
    }
    chunks[chunks.count - 1].indexes.append((channel, offset + 6, Int(count) / 16))
  }

  /// Of an attachment, what its head says; of metadata, the name.
  private mutating func walkOther(
    _ opcode: UInt8, _ offset: UInt64, _ length: UInt64
  ) throws(MCAPError) -> Bool {
    let count = Int(min(length, UInt64(Self.definitionLimit)))
    try input.read(offset, count, into: &raw)
    let bytes = unsafe Span(_unsafeElements: raw.elements)
    var cursor = MCAPCursor(0..<count)
    let (start, whole) = (wholeSize, length + UInt64(MCAPFormat.recordHeaderSize))
    switch opcode {
    case MCAPOpcode.attachment:
      guard let (attachment, size) = cursor.takeAttachmentHead(of: bytes),
        size <= length - UInt64(cursor.position)
      else { return false }
      guard keep(cursor.position) else { break }
      attachments.append(
        MCAPAttachmentIndex(
          offset: start, length: whole, logTime: attachment.logTime,
          createTime: attachment.createTime, dataSize: size, name: attachment.name,
          mediaType: attachment.mediaType))
    case MCAPOpcode.metadata:
      guard let name = cursor.takeString(of: bytes) else { return false }
      guard keep(cursor.position) else { break }
      metadata.append(MCAPMetadataIndex(offset: start, length: whole, name: name))
    default:
      guard case .header(let header) = cursor.takeHeader(of: bytes) else { return false }
      self.header = self.header ?? header
    }
    return true
  }

  /// Whether so many bytes more are kept.
  private mutating func keep(_ count: Int) -> Bool {
    guard definitionBytes + count <= Self.definitionsLimit else { return false }
    definitionBytes += count
    return true
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
    for index in chunks.indices where !chunks[index].isMessage {
      let indexes = chunks[index].indexes
      // A summary that repeats channels repeats all; schemas, too.
      let isKnown =
        indexes.isEmpty
        ? repeatsChannels && channels.values.allSatisfy { hasSchema($0) }
        : indexes.allSatisfy { channels[$0.channel].map { hasSchema($0) } ?? false }
      if isKnown { continue }
      guard try loadOrCut(index) else { return }
      let bytes = unsafe Span(_unsafeElements: content.elements)
      var cursor = MCAPCursor(0..<bytes.count)
      while let record = cursor.takeRecord(of: bytes) {
        define(record.opcode, record.content, of: bytes)
      }
    }
  }

  private func hasSchema(_ channel: MCAPChannel) -> Bool {
    channel.schema == 0 || repeatsSchemas || schemas[channel.schema] != nil
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
