internal import SprocketDeflate

/// Where a file's bytes go, one behind the other.
public protocol MCAPOutput: ~Copyable {
  associatedtype Failure: Error
  mutating func write(_ bytes: Span<UInt8>) throws(Failure)
}

/// What a file has besides its data.
public struct MCAPOptions: Sendable, Hashable {
  /// Schemas, channels and single messages go into chunks, which are not compressed.
  public var isChunked = false
  /// Behind each chunk, where its messages are.
  public var hasMessageIndexes = true
  // In the summary.
  public var hasChunkIndexes = true
  public var hasAttachmentIndexes = true
  public var hasMetadataIndexes = true
  public var repeatsSchemas = true
  public var repeatsChannels = true
  public var hasStatistics = true
  public var hasSummaryOffsets = true
  /// A checksum of all bytes up to the end of the data. Dumps have none: their chunks have their own.
  public var hasDataChecksum = false
  /// Bytes behind the last field of records. Readers ignore them: later versions may add fields there.
  public var padding: [UInt8] = []

  public init() {}
}

/// Writes an MCAP file: schemas and channels as they are told, whole chunks each followed by its
/// index, and at the end the summary, by which readers find everything without reading all.
///
/// Each call is one write, so a file that is cut off ends behind a whole record or within the last.
/// What is kept for the summary are some 150 bytes per chunk.
public struct MCAPWriter<Output: MCAPOutput & ~Copyable>: ~Copyable {
  public var output: Output
  /// Bytes written so far, all of them whole records.
  public internal(set) var offset: UInt64 = 0
  let options: MCAPOptions
  var scratch = MCAPBytes(capacity: 4096)
  var checksum = CRC32()
  var schemas: [MCAPSchema] = []
  var channels: [MCAPChannel] = []
  var chunkIndexes = MCAPBytes(capacity: 1 << 16)
  var attachmentIndexes: [MCAPAttachmentIndex] = []
  var metadataIndexes: [MCAPMetadataIndex] = []
  var chunkCount: UInt32 = 0
  var attachmentCount: UInt32 = 0
  var metadataCount: UInt32 = 0
  /// By place in `channels`.
  var messageCounts: [UInt64] = []
  var startTime: UInt64?
  var endTime: UInt64 = 0
  /// The chunk of single messages.
  var plain = MCAPPlainChunk()

  public init(output: consuming Output, options: MCAPOptions = MCAPOptions()) {
    self.output = output
    self.options = options
  }

  /// Begins the file; `library` says what wrote it.
  public mutating func begin(profile: String = "", library: String) throws(Output.Failure) {
    scratch.removeAll()
    scratch.append(MCAPFormat.magic)
    scratch.append(
      .header(MCAPHeader(profile: profile, library: library)), padding: options.padding)
    try writeScratch()
  }

  /// Tells of a kind of messages, before the first channel of it.
  public mutating func add(_ schema: MCAPSchema) throws(Output.Failure) {
    precondition(
      schema.id > 0 && !schemas.contains { $0.id == schema.id }, "a schema has an id of its own")
    schemas.append(schema)
    try add(definition: .schema(schema))
  }

  /// Tells of a channel, before the first message on it.
  public mutating func add(_ channel: MCAPChannel) throws(Output.Failure) {
    precondition(
      !channels.contains { $0.id == channel.id }
        && (channel.schema == 0 || schemas.contains { $0.id == channel.schema }),
      "a channel has an id of its own, and a schema that was told of before")
    // By id, as the index of a chunk has them.
    let place = channels.firstIndex { $0.id > channel.id } ?? channels.endIndex
    channels.insert(channel, at: place)
    messageCounts.insert(0, at: place)
    try add(definition: .channel(channel))
  }

  private mutating func add(definition record: MCAPRecord) throws(Output.Failure) {
    if options.isChunked {
      plain.records.append(record)
      return
    }
    scratch.removeAll()
    scratch.append(record, padding: options.padding)
    try writeScratch()
  }

  /// Writes a chunk, unless it is empty, and empties it. Where that throws, the chunk is not in the
  /// file, and nothing can be written behind it.
  public mutating func write(_ chunk: inout MCAPChunk) throws(Output.Failure) {
    if chunk.isEmpty { return }
    let sizes = chunk.close()
    let indexLength = chunk.record.count - sizes.record
    note(chunk, sizes.record, compressed: sizes.frame, indexLength: indexLength)
    try output.write(unsafe Span(_unsafeElements: chunk.record.elements))
    if options.hasDataChecksum {
      checksum.update(unsafe Span(_unsafeElements: chunk.record.elements))
    }
    offset += UInt64(chunk.record.count)
    chunk.reset()
  }

  private mutating func note(
    _ chunk: borrowing MCAPChunk, _ length: Int, compressed: Int, indexLength: Int
  ) {
    let start = chunkIndexes.beginRecord(MCAPOpcode.chunkIndex)
    chunkIndexes.append(chunk.startTime)
    chunkIndexes.append(chunk.endTime)
    chunkIndexes.append(offset)
    chunkIndexes.append(UInt64(length))
    let map = chunkIndexes.count
    chunkIndexes.append(UInt32(0))
    var place = offset + UInt64(length)
    for index in channels.indices {
      let count = chunk.count(of: channels[index].id)
      if count == 0 { continue }
      messageCounts[index] += UInt64(count)
      chunkIndexes.append(channels[index].id)
      chunkIndexes.append(place)
      place += UInt64(MCAPChunk.indexSize(of: count))
    }
    chunkIndexes.overwrite(UInt32(chunkIndexes.count - map - 4), at: map)
    chunkIndexes.append(UInt64(indexLength))
    chunkIndexes.append(UInt32(MCAPChunk.compression.count))
    chunkIndexes.append(MCAPChunk.compression)
    chunkIndexes.append(UInt64(compressed))
    chunkIndexes.append(UInt64(chunk.contentCount))
    chunkIndexes.append(options.padding)
    chunkIndexes.endRecord(start)
    chunkCount += 1
    note(times: chunk.startTime, chunk.endTime)
  }

  mutating func note(times start: UInt64, _ end: UInt64) {
    startTime = min(startTime ?? start, start)
    endTime = max(endTime, end)
  }

  mutating func writeScratch() throws(Output.Failure) {
    let bytes = unsafe scratch.elements
    try output.write(unsafe Span(_unsafeElements: bytes))
    if options.hasDataChecksum { checksum.update(unsafe Span(_unsafeElements: bytes)) }
    offset += UInt64(scratch.count)
  }
}
