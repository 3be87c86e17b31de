internal import SprocketDeflate

// What dumps do not have: single messages, attachments and metadata.

/// A chunk of single messages, which is not compressed.
struct MCAPPlainChunk: ~Copyable {
  var records = MCAPBytes(capacity: 64)
  var entries: [(channel: UInt16, entry: MCAPMessageIndex.Entry)] = []

  mutating func removeAll() {
    records.removeAll()
    entries.removeAll(keepingCapacity: true)
  }
}

extension MCAPWriter where Output: ~Copyable {
  /// Adds a message on a channel that was told of: to the chunk, or, if the file is not chunked, as a
  /// record of its own.
  public mutating func add(_ message: MCAPMessage, data: Span<UInt8>) throws(Output.Failure) {
    guard let place = channels.firstIndex(where: { $0.id == message.channel }) else {
      preconditionFailure("a message is on a channel that was told of before")
    }
    messageCounts[place] += 1
    note(times: message.logTime, message.logTime)
    if options.isChunked {
      let entry = MCAPMessageIndex.Entry(
        logTime: message.logTime, offset: UInt64(plain.records.count))
      plain.entries.append((message.channel, entry))
      plain.records.append(message, dataCount: data.count)
      plain.records.append(data)
      return
    }
    scratch.removeAll()
    scratch.append(message, dataCount: data.count)
    scratch.append(data)
    try writeScratch()
  }

  public mutating func add(_ attachment: MCAPAttachment) throws(Output.Failure) {
    let place = try write(.attachment(attachment))
    attachmentCount += 1
    if options.hasAttachmentIndexes {
      attachmentIndexes.append(
        MCAPAttachmentIndex(
          offset: place.offset, length: place.length, logTime: attachment.logTime,
          createTime: attachment.createTime, dataSize: UInt64(attachment.data.count),
          name: attachment.name, mediaType: attachment.mediaType))
    }
  }

  public mutating func add(_ metadata: MCAPMetadata) throws(Output.Failure) {
    let place = try write(.metadata(metadata))
    metadataCount += 1
    if options.hasMetadataIndexes {
      metadataIndexes.append(
        MCAPMetadataIndex(offset: place.offset, length: place.length, name: metadata.name))
    }
  }

  /// Writes a record outside of chunks. Returns its place in the file.
  private mutating func write(
    _ record: MCAPRecord
  ) throws(Output.Failure) -> (offset: UInt64, length: UInt64) {
    scratch.removeAll()
    scratch.append(record, padding: options.padding)
    let place = (offset: offset, length: UInt64(scratch.count))
    try writeScratch()
    return place
  }

  /// Ends the chunk of single messages and writes it, unless it is empty.
  public mutating func endChunk() throws(Output.Failure) {
    if plain.records.isEmpty { return }
    let times = plain.entries.map(\.entry.logTime)
    var chunk = MCAPStoredChunk(
      startTime: times.min() ?? 0, endTime: times.max() ?? 0, size: UInt64(plain.records.count),
      checksum: 0, compression: "", records: [])
    let bytes = unsafe Span(_unsafeElements: plain.records.elements)
    var found = CRC32()
    found.update(bytes)
    chunk.checksum = found.value
    chunk.records = Array(copying: bytes)
    scratch.removeAll()
    scratch.append(.chunk(chunk))
    var index = MCAPChunkIndex(
      startTime: chunk.startTime, endTime: chunk.endTime, offset: offset,
      length: UInt64(scratch.count), messageIndexOffsets: [:], messageIndexLength: 0,
      compression: "", compressedSize: chunk.size, size: chunk.size)
    if options.hasMessageIndexes { appendMessageIndexes(&index) }
    chunkIndexes.append(.chunkIndex(index), padding: options.padding)
    chunkCount += 1
    plain.removeAll()
    try writeScratch()
  }

  private mutating func appendMessageIndexes(_ index: inout MCAPChunkIndex) {
    for channel in Set(plain.entries.map(\.channel)).sorted() {
      index.messageIndexOffsets[channel] = offset + UInt64(scratch.count)
      let entries = plain.entries.filter { $0.channel == channel }.map(\.entry)
      scratch.append(
        .messageIndex(MCAPMessageIndex(channel: channel, entries: entries)),
        padding: options.padding)
    }
    index.messageIndexLength = offset + UInt64(scratch.count) - index.offset - index.length
  }
}
