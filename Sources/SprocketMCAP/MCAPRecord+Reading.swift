internal import SprocketDeflate

// Records out of bytes, which may be foreign or damaged.

extension MCAPRecord {
  /// Reads the content of a record; `nil` where its fields do not fit into it, or where an attachment's
  /// checksum does not match.
  init?(_ opcode: UInt8, _ bytes: Span<UInt8>, _ content: Range<Int>) {
    var cursor = MCAPCursor(content)
    let found: MCAPRecord? =
      switch opcode {
      case MCAPOpcode.header: cursor.takeHeader(of: bytes)
      case MCAPOpcode.footer: cursor.takeFooter(of: bytes)
      case MCAPOpcode.schema: cursor.takeSchema(of: bytes, content)
      case MCAPOpcode.channel: MCAPChannel(bytes, content).map { .channel($0) }
      case MCAPOpcode.message:
        MCAPMessage.read(bytes, content).map {
          .message($0.message, data: Array(copying: bytes.extracting($0.data)))
        }
      case MCAPOpcode.chunk: cursor.takeChunk(of: bytes)
      case MCAPOpcode.messageIndex: cursor.takeMessageIndex(of: bytes)
      case MCAPOpcode.chunkIndex: cursor.takeChunkIndex(of: bytes)
      case MCAPOpcode.attachment: cursor.takeAttachment(of: bytes)
      case MCAPOpcode.attachmentIndex: cursor.takeAttachmentIndex(of: bytes)
      case MCAPOpcode.statistics: cursor.takeStatistics(of: bytes)
      case MCAPOpcode.metadata: cursor.takeMetadata(of: bytes)
      case MCAPOpcode.metadataIndex: cursor.takeMetadataIndex(of: bytes)
      case MCAPOpcode.summaryOffset: cursor.takeSummaryOffset(of: bytes)
      case MCAPOpcode.dataEnd: cursor.take(UInt32.self, of: bytes).map { .dataEnd(checksum: $0) }
      default: .unknown(opcode: opcode, data: Array(copying: bytes.extracting(content)))
      }
    guard let found else { return nil }
    self = found
  }
}

extension MCAPCursor {
  mutating func takeHeader(of bytes: Span<UInt8>) -> MCAPRecord? {
    guard let profile = takeString(of: bytes), let library = takeString(of: bytes)
    else { return nil }
    return .header(MCAPHeader(profile: profile, library: library))
  }

  mutating func takeFooter(of bytes: Span<UInt8>) -> MCAPRecord? {
    guard let start = take(UInt64.self, of: bytes), let offsets = take(UInt64.self, of: bytes),
      let checksum = take(UInt32.self, of: bytes)
    else { return nil }
    return .footer(
      MCAPFooter(summaryStart: start, summaryOffsetStart: offsets, checksum: checksum))
  }

  /// `content` is the whole record's.
  func takeSchema(of bytes: Span<UInt8>, _ content: Range<Int>) -> MCAPRecord? {
    var id = self
    if id.take(UInt16.self, of: bytes) == 0 {
      return .unknown(
        opcode: MCAPOpcode.schema, data: Array(copying: bytes.extracting(content)))
    }
    return MCAPSchema(bytes, content).map { .schema($0) }
  }

  mutating func takeChunk(of bytes: Span<UInt8>) -> MCAPRecord? {
    guard let start = take(UInt64.self, of: bytes), let end = take(UInt64.self, of: bytes),
      let size = take(UInt64.self, of: bytes), let checksum = take(UInt32.self, of: bytes),
      let compression = takeString(of: bytes), let count = take(UInt64.self, of: bytes),
      let records = take(count, of: bytes)
    else { return nil }
    return .chunk(
      MCAPStoredChunk(
        startTime: start, endTime: end, size: size, checksum: checksum, compression: compression,
        records: Array(copying: bytes.extracting(records))))
  }

  mutating func takeMessageIndex(of bytes: Span<UInt8>) -> MCAPRecord? {
    guard let channel = take(UInt16.self, of: bytes) else { return nil }
    var index = MCAPMessageIndex(channel: channel, entries: [])
    let isWhole = takePairs(of: bytes) { (time: UInt64, offset) in
      index.entries.append(MCAPMessageIndex.Entry(logTime: time, offset: offset))
    }
    return isWhole ? .messageIndex(index) : nil
  }

  mutating func takeChunkIndex(of bytes: Span<UInt8>) -> MCAPRecord? {
    var offsets: [UInt16: UInt64] = [:]
    guard let start = take(UInt64.self, of: bytes), let end = take(UInt64.self, of: bytes),
      let offset = take(UInt64.self, of: bytes), let length = take(UInt64.self, of: bytes),
      takePairs(of: bytes, { (channel: UInt16, place) in offsets[channel] = place }),
      let indexLength = take(UInt64.self, of: bytes), let compression = takeString(of: bytes),
      let compressed = take(UInt64.self, of: bytes), let size = take(UInt64.self, of: bytes)
    else { return nil }
    return .chunkIndex(
      MCAPChunkIndex(
        startTime: start, endTime: end, offset: offset, length: length,
        messageIndexOffsets: offsets, messageIndexLength: indexLength, compression: compression,
        compressedSize: compressed, size: size))
  }

  /// The fields of an attachment before its data, and how many bytes of data follow.
  mutating func takeAttachmentHead(
    of bytes: Span<UInt8>
  ) -> (attachment: MCAPAttachment, dataSize: UInt64)? {
    guard let logTime = take(UInt64.self, of: bytes),
      let createTime = take(UInt64.self, of: bytes), let name = takeString(of: bytes),
      let mediaType = takeString(of: bytes), let size = take(UInt64.self, of: bytes)
    else { return nil }
    let attachment = MCAPAttachment(
      logTime: logTime, createTime: createTime, name: name, mediaType: mediaType, data: [])
    return (attachment, size)
  }

  mutating func takeAttachment(of bytes: Span<UInt8>) -> MCAPRecord? {
    let start = position
    guard let (head, size) = takeAttachmentHead(of: bytes), let data = take(size, of: bytes)
    else { return nil }
    let end = position
    guard let checksum = take(UInt32.self, of: bytes) else { return nil }
    if checksum != 0 {
      var found = CRC32()
      found.update(bytes.extracting(start..<end))
      if found.value != checksum { return nil }
    }
    var attachment = head
    attachment.data = Array(copying: bytes.extracting(data))
    return .attachment(attachment)
  }

  mutating func takeAttachmentIndex(of bytes: Span<UInt8>) -> MCAPRecord? {
    guard let offset = take(UInt64.self, of: bytes), let length = take(UInt64.self, of: bytes),
      let logTime = take(UInt64.self, of: bytes), let createTime = take(UInt64.self, of: bytes),
      let size = take(UInt64.self, of: bytes), let name = takeString(of: bytes),
      let mediaType = takeString(of: bytes)
    else { return nil }
    return .attachmentIndex(
      MCAPAttachmentIndex(
        offset: offset, length: length, logTime: logTime, createTime: createTime, dataSize: size,
        name: name, mediaType: mediaType))
  }

  mutating func takeStatistics(of bytes: Span<UInt8>) -> MCAPRecord? {
    var statistics = MCAPStatistics()
    guard let messages = take(UInt64.self, of: bytes), let schemas = take(UInt16.self, of: bytes),
      let channels = take(UInt32.self, of: bytes), let attachments = take(UInt32.self, of: bytes),
      let metadata = take(UInt32.self, of: bytes), let chunks = take(UInt32.self, of: bytes),
      let start = take(UInt64.self, of: bytes), let end = take(UInt64.self, of: bytes),
      takePairs(
        of: bytes, { (channel: UInt16, count) in statistics.channelMessageCounts[channel] = count })
    else { return nil }
    statistics.messageCount = messages
    statistics.schemaCount = schemas
    statistics.channelCount = channels
    statistics.attachmentCount = attachments
    statistics.metadataCount = metadata
    statistics.chunkCount = chunks
    statistics.startTime = start
    statistics.endTime = end
    return .statistics(statistics)
  }

  mutating func takeMetadata(of bytes: Span<UInt8>) -> MCAPRecord? {
    guard let name = takeString(of: bytes), let map = takeMap(of: bytes) else { return nil }
    return .metadata(MCAPMetadata(name: name, metadata: map))
  }

  mutating func takeMetadataIndex(of bytes: Span<UInt8>) -> MCAPRecord? {
    guard let offset = take(UInt64.self, of: bytes), let length = take(UInt64.self, of: bytes),
      let name = takeString(of: bytes)
    else { return nil }
    return .metadataIndex(MCAPMetadataIndex(offset: offset, length: length, name: name))
  }

  mutating func takeSummaryOffset(of bytes: Span<UInt8>) -> MCAPRecord? {
    guard let opcode = take(UInt8.self, of: bytes), let start = take(UInt64.self, of: bytes),
      let length = take(UInt64.self, of: bytes)
    else { return nil }
    return .summaryOffset(MCAPSummaryOffset(opcode: opcode, start: start, length: length))
  }
}
