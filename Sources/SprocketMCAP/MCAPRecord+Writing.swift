internal import SprocketDeflate

// Records as bytes.

extension MCAPBytes {
  /// The record, with `padding` behind its last field, except in the kinds whose end has a meaning: the
  /// footer, the end of the data, a message and a chunk.
  mutating func append(_ record: MCAPRecord, padding: [UInt8] = []) {
    let start = beginRecord(record.opcode)
    switch record {
    case .header(let header):
      append(header.profile)
      append(header.library)
    case .footer(let footer):
      append(footer.summaryStart)
      append(footer.summaryOffsetStart)
      append(footer.checksum)
    case .schema(let schema): appendFields(schema)
    case .channel(let channel): appendFields(channel)
    case .message(let message, let data):
      append(message.channel)
      append(message.sequence)
      append(message.logTime)
      append(message.publishTime)
      append(data)
    case .chunk(let chunk):
      appendFields(chunk)
      append(chunk.records)
    case .messageIndex(let index): appendFields(index)
    case .chunkIndex(let index): appendFields(index)
    case .attachment(let attachment): appendFields(attachment)
    case .attachmentIndex(let index): appendFields(index)
    case .statistics(let statistics): appendFields(statistics)
    case .metadata(let metadata):
      append(metadata.name)
      append(metadata.metadata)
    case .metadataIndex(let index):
      append(index.offset)
      append(index.length)
      append(index.name)
    case .summaryOffset(let offset):
      append(offset.opcode)
      append(offset.start)
      append(offset.length)
    case .dataEnd(let checksum): append(checksum)
    case .unknown(_, let data): append(data)
    }
    if record.takesPadding { append(padding) }
    endRecord(start)
  }

  /// A map, in the order of its keys.
  mutating func append(_ map: [String: String]) {
    let start = count
    append(UInt32(0))
    for (key, value) in map.sorted(by: { $0.key < $1.key }) {
      append(key)
      append(value)
    }
    overwrite(UInt32(count - start - 4), at: start)
  }

  /// A map, in the order of its keys.
  mutating func append(_ map: [UInt16: UInt64]) {
    append(UInt32(10 * map.count))
    for (key, value) in map.sorted(by: { $0.key < $1.key }) {
      append(key)
      append(value)
    }
  }

  private mutating func appendFields(_ schema: MCAPSchema) {
    append(schema.id)
    append(schema.name)
    append(schema.encoding)
    append(UInt32(schema.data.count))
    append(schema.data)
  }

  private mutating func appendFields(_ channel: MCAPChannel) {
    append(channel.id)
    append(channel.schema)
    append(channel.topic)
    append(channel.encoding)
    append(channel.metadata)
  }

  /// All but its records.
  private mutating func appendFields(_ chunk: MCAPStoredChunk) {
    append(chunk.startTime)
    append(chunk.endTime)
    append(chunk.size)
    append(chunk.checksum)
    append(chunk.compression)
    append(UInt64(chunk.records.count))
  }

  private mutating func appendFields(_ index: MCAPMessageIndex) {
    append(index.channel)
    append(UInt32(16 * index.entries.count))
    for entry in index.entries {
      append(entry.logTime)
      append(entry.offset)
    }
  }

  private mutating func appendFields(_ index: MCAPChunkIndex) {
    append(index.startTime)
    append(index.endTime)
    append(index.offset)
    append(index.length)
    append(index.messageIndexOffsets)
    append(index.messageIndexLength)
    append(index.compression)
    append(index.compressedSize)
    append(index.size)
  }

  private mutating func appendFields(_ attachment: MCAPAttachment) {
    let start = count
    append(attachment.logTime)
    append(attachment.createTime)
    append(attachment.name)
    append(attachment.mediaType)
    append(UInt64(attachment.data.count))
    append(attachment.data)
    var checksum = CRC32()
    let bytes = unsafe elements
    checksum.update(unsafe Span(_unsafeElements: bytes).extracting(start..<bytes.count))
    append(checksum.value)
  }

  private mutating func appendFields(_ index: MCAPAttachmentIndex) {
    append(index.offset)
    append(index.length)
    append(index.logTime)
    append(index.createTime)
    append(index.dataSize)
    append(index.name)
    append(index.mediaType)
  }

  private mutating func appendFields(_ statistics: MCAPStatistics) {
    append(statistics.messageCount)
    append(statistics.schemaCount)
    append(statistics.channelCount)
    append(statistics.attachmentCount)
    append(statistics.metadataCount)
    append(statistics.chunkCount)
    append(statistics.startTime)
    append(statistics.endTime)
    append(statistics.channelMessageCounts)
  }
}

extension MCAPRecord {
  public var opcode: UInt8 {
    switch self {
    case .header: MCAPOpcode.header
    case .footer: MCAPOpcode.footer
    case .schema: MCAPOpcode.schema
    case .channel: MCAPOpcode.channel
    case .message: MCAPOpcode.message
    case .chunk: MCAPOpcode.chunk
    case .messageIndex: MCAPOpcode.messageIndex
    case .chunkIndex: MCAPOpcode.chunkIndex
    case .attachment: MCAPOpcode.attachment
    case .attachmentIndex: MCAPOpcode.attachmentIndex
    case .statistics: MCAPOpcode.statistics
    case .metadata: MCAPOpcode.metadata
    case .metadataIndex: MCAPOpcode.metadataIndex
    case .summaryOffset: MCAPOpcode.summaryOffset
    case .dataEnd: MCAPOpcode.dataEnd
    case .unknown(let opcode, _): opcode
    }
  }

  /// A message's data reach to the end of its record, the footer has a fixed size, and readers find
  /// the end of the data by its.
  var takesPadding: Bool {
    switch self {
    case .footer, .dataEnd, .message, .chunk, .unknown: false
    default: true
    }
  }

  /// The record as it is in a file: opcode, length and content.
  public var bytes: [UInt8] {
    var bytes = MCAPBytes(capacity: 256)
    bytes.append(self)
    return Array(copying: unsafe Span(_unsafeElements: bytes.elements))
  }
}
