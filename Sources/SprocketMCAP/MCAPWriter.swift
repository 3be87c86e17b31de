internal import SprocketDeflate
internal import SprocketLZ4

/// Where a file's bytes go, one behind the other.
public protocol MCAPOutput: ~Copyable {
  associatedtype Failure: Error
  mutating func write(_ bytes: Span<UInt8>) throws(Failure)
}

/// Writes an MCAP file: schemas and channels as they are told, whole chunks each followed by its
/// index, and at the end the summary, by which readers find everything without reading all.
///
/// Each call is one write, so a file that is cut off ends behind a whole record or within the last.
/// What is kept for the summary are some 150 bytes per chunk.
public struct MCAPWriter<Output: MCAPOutput & ~Copyable>: ~Copyable {
  public var output: Output
  /// Bytes written so far, all of them whole records.
  public private(set) var offset: UInt64 = 0
  private var scratch = MCAPBytes(capacity: 4096)
  private var schemas: [MCAPSchema] = []
  private var channels: [MCAPChannel] = []
  private var chunkIndexes = MCAPBytes(capacity: 1 << 16)
  private var chunkCount: UInt32 = 0
  /// By place in `channels`.
  private var messageCounts: [UInt64] = []
  private var startTime: UInt64?
  private var endTime: UInt64 = 0

  public init(output: consuming Output) { self.output = output }

  /// Begins the file; `library` says what wrote it.
  public mutating func begin(library: String) throws(Output.Failure) {
    scratch.removeAll()
    scratch.append(MCAPFormat.magic)
    let start = scratch.beginRecord(MCAPOpcode.header)
    // No profile.
    scratch.append("")
    scratch.append(library)
    scratch.endRecord(start)
    try writeScratch()
  }

  /// Tells of a kind of messages, before the first channel of it.
  public mutating func add(_ schema: MCAPSchema) throws(Output.Failure) {
    precondition(
      schema.id > 0 && !schemas.contains { $0.id == schema.id }, "a schema has an id of its own")
    schemas.append(schema)
    scratch.removeAll()
    scratch.append(schema)
    try writeScratch()
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
    scratch.removeAll()
    scratch.append(channel)
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
    chunkIndexes.endRecord(start)
    chunkCount += 1
    startTime = min(startTime ?? chunk.startTime, chunk.startTime)
    endTime = max(endTime, chunk.endTime)
  }

  /// Ends the file: what it holds, and where.
  public mutating func end() throws(Output.Failure) {
    scratch.removeAll()
    let end = scratch.beginRecord(MCAPOpcode.dataEnd)
    // No checksum of all bytes: the chunks have their own.
    scratch.append(UInt32(0))
    scratch.endRecord(end)
    let summary = scratch.count
    let groups = appendSummary()
    let offsets = appendOffsets(groups)
    let footer = scratch.beginRecord(MCAPOpcode.footer)
    scratch.append(offset + UInt64(summary))
    scratch.append(offset + UInt64(offsets))
    var checksum = CRC32()
    let elements = unsafe scratch.elements
    checksum.update(unsafe Span(_unsafeElements: elements).extracting(summary..<elements.count))
    scratch.append(checksum.value)
    scratch.endRecord(footer, length: MCAPFormat.footerSize)
    scratch.append(MCAPFormat.magic)
    try writeScratch()
  }

  private mutating func writeScratch() throws(Output.Failure) {
    try output.write(unsafe Span(_unsafeElements: scratch.elements))
    offset += UInt64(scratch.count)
  }

  /// Where each kind of records begins, in `scratch`; the last entry is where they end.
  private mutating func appendSummary() -> [(opcode: UInt8, start: Int)] {
    var groups: [(opcode: UInt8, start: Int)] = []
    func begin(_ opcode: UInt8, at start: Int) { groups.append((opcode, start)) }
    begin(MCAPOpcode.schema, at: scratch.count)
    for schema in schemas { scratch.append(schema) }
    begin(MCAPOpcode.channel, at: scratch.count)
    for channel in channels { scratch.append(channel) }
    begin(MCAPOpcode.statistics, at: scratch.count)
    appendStatistics()
    begin(MCAPOpcode.chunkIndex, at: scratch.count)
    scratch.append(unsafe Span(_unsafeElements: chunkIndexes.elements))
    begin(0, at: scratch.count)
    return groups
  }

  private mutating func appendStatistics() {
    let start = scratch.beginRecord(MCAPOpcode.statistics)
    scratch.append(messageCounts.reduce(0, +))
    scratch.append(UInt16(schemas.count))
    scratch.append(UInt32(channels.count))
    // No attachments, no metadata.
    scratch.append(UInt32(0))
    scratch.append(UInt32(0))
    scratch.append(chunkCount)
    scratch.append(startTime ?? 0)
    scratch.append(endTime)
    scratch.append(UInt32(messageCounts.count * 10))
    for (channel, count) in zip(channels, messageCounts) {
      scratch.append(channel.id)
      scratch.append(count)
    }
    scratch.endRecord(start)
  }

  /// Returns where the section begins.
  private mutating func appendOffsets(_ groups: [(opcode: UInt8, start: Int)]) -> Int {
    let section = scratch.count
    for (group, next) in zip(groups, groups.dropFirst()) where next.start > group.start {
      let start = scratch.beginRecord(MCAPOpcode.summaryOffset)
      scratch.append(group.opcode)
      scratch.append(offset + UInt64(group.start))
      scratch.append(UInt64(next.start - group.start))
      scratch.endRecord(start)
    }
    return section
  }
}
