public import SprocketCore
internal import SprocketFiles
internal import SprocketMCAP

/// Copies all readable records of a damaged or truncated MCAP file into a new, complete file: schemas,
/// channels, messages, attachments and metadata, in their order. Any program may have written the file.
/// Chunks are compressed with LZ4.
///
/// A damaged record or chunk is skipped. Memory: one chunk of each file.
public struct MCAPRecovery: Sendable {
  public var messages: UInt64 = 0
  public var attachments: UInt64 = 0
  public var metadata: UInt64 = 0
  /// Records and chunks that could not be read.
  public var damaged: UInt64 = 0
  /// Messages whose channel has no channel record in the file.
  public var strayMessages: UInt64 = 0
  /// The file ends within a record, or without its end.
  public var isCutOff = false

  /// Keys are the numbers in the damaged file. A number that is defined a second time, differently, gets a
  /// new number in the copy.
  private var channels: [UInt16: (channel: MCAPChannel, number: UInt16)] = [:]
  private var schemas: [UInt16: (schema: MCAPSchema, number: UInt16)] = [:]
  private var takenChannels: Set<UInt16> = []
  private var takenSchemas: Set<UInt16> = [0]

  private init() {}

  /// Bytes of messages in a chunk before it is written. Larger: better compression, more memory, and more to
  /// read for a single message.
  private static let chunkBytes = 1 << 22
  /// Damaged places after which the rest is given up: each costs a look at the file.
  private static let mostDamage: UInt64 = 10_000

  /// Reads `broken` and writes `out`, which must not exist unless `overwrite` is set. Throws where it is no
  /// MCAP file, has no whole record, or `out` cannot be written.
  public static func recover(
    _ broken: String, to out: String, overwrite: Bool = false,
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(RunError) -> MCAPRecovery {
    var reader: MCAPRecordReader
    do throws(MCAPError) {
      reader = try MCAPRecordReader.open(broken, isInterrupted: isInterrupted)
    } catch {
      throw RunError(.usage, error.description)
    }
    var recovery = MCAPRecovery()
    var writer = MCAPWriter(
      output: try PartialFile(path: out, purpose: "a recovered file", overwrite: overwrite))
    var chunk = MCAPChunk(capacity: chunkBytes)
    var hasBegun = false
    while let record = try recovery.next(&reader) {
      if !hasBegun {
        hasBegun = true
        var profile = ""
        if case .header(let header) = record { profile = header.profile }
        try writer.begin(profile: profile, library: "sprocket recover")
      }
      try recovery.take(record, &writer, &chunk)
      if chunk.contentCount >= chunkBytes { try writer.write(&chunk) }
    }
    recovery.isCutOff = !reader.isComplete
    if hasBegun, recovery.isCutOff { try recovery.takeRest(&reader, &writer, &chunk) }
    guard hasBegun else {
      throw RunError(.usage, "\(broken) has no whole record; there is nothing to recover")
    }
    try writer.write(&chunk)
    try writer.end()
    try writer.output.complete()
    return recovery
  }

  /// Copies what follows a record whose length is damaged. The summary at the end of the file, if it can be
  /// read, has the offsets of the records that follow.
  private mutating func takeRest(
    _ reader: inout MCAPRecordReader, _ writer: inout MCAPWriter<PartialFile>,
    _ chunk: inout MCAPChunk
  ) throws(RunError) {
    guard let summary = try? reader.summary() else { return }
    isCutOff = false
    damaged += 1
    let start = reader.position
    for record in summary {
      switch record {
      case .schema, .channel: try take(record, &writer, &chunk)
      case .attachmentIndex(let index) where index.offset >= start:
        try take(at: index.offset, &reader, &writer, &chunk)
      case .metadataIndex(let index) where index.offset >= start:
        try take(at: index.offset, &reader, &writer, &chunk)
      case .chunkIndex(let index) where index.offset >= start:
        guard let records = try? reader.records(inChunkAt: index.offset) else {
          damaged += 1
          continue
        }
        for record in records { try take(record, &writer, &chunk) }
        if chunk.contentCount >= Self.chunkBytes { try writer.write(&chunk) }
      default: continue
      }
    }
  }

  private mutating func take(
    at offset: UInt64, _ reader: inout MCAPRecordReader, _ writer: inout MCAPWriter<PartialFile>,
    _ chunk: inout MCAPChunk
  ) throws(RunError) {
    guard let record = try? reader.record(at: offset) else {
      damaged += 1
      return
    }
    try take(record, &writer, &chunk)
  }

  /// The next record that can be read; `nil` at the end.
  private mutating func next(_ reader: inout MCAPRecordReader) throws(RunError) -> MCAPRecord? {
    while true {
      let before = reader.position
      do throws(MCAPError) {
        return try reader.next()
      } catch {
        guard error.code == .damaged else {
          throw RunError(error.code == .interrupted ? .interrupted : .failed, error.description)
        }
        damaged += 1
        guard reader.position > before, damaged < Self.mostDamage else { return nil }
      }
    }
  }

  private mutating func take(
    _ record: MCAPRecord, _ writer: inout MCAPWriter<PartialFile>, _ chunk: inout MCAPChunk
  ) throws(RunError) {
    switch record {
    case .schema(let schema): try add(schema, &writer)
    case .channel(let channel): try add(channel, &writer)
    case .message(var message, let data):
      guard let number = channels[message.channel]?.number else {
        strayMessages += 1
        return
      }
      message.channel = number
      chunk.add(message, gathering: data.span)
      messages += 1
    case .attachment(let attachment):
      try writer.add(attachment)
      attachments += 1
    case .metadata(let found):
      try writer.add(found)
      metadata += 1
    default: return
    }
  }

  private mutating func add(
    _ schema: MCAPSchema, _ writer: inout MCAPWriter<PartialFile>
  ) throws(RunError) {
    guard schema.id > 0, schemas[schema.id]?.schema != schema,
      let number = Self.free(schema.id, &takenSchemas)
    else { return }
    schemas[schema.id] = (schema, number)
    var renamed = schema
    renamed.id = number
    try writer.add(renamed)
  }

  private mutating func add(
    _ channel: MCAPChannel, _ writer: inout MCAPWriter<PartialFile>
  ) throws(RunError) {
    guard channels[channel.id]?.channel != channel else { return }
    guard channel.schema == 0 || schemas[channel.schema] != nil,
      let number = Self.free(channel.id, &takenChannels)
    else {
      channels[channel.id] = nil
      return
    }
    channels[channel.id] = (channel, number)
    var renamed = channel
    renamed.id = number
    renamed.schema = channel.schema == 0 ? 0 : schemas[channel.schema]?.number ?? 0
    try writer.add(renamed)
  }

  /// `wanted`, or a number that is free; `nil` if all are taken.
  private static func free(_ wanted: UInt16, _ taken: inout Set<UInt16>) -> UInt16? {
    if taken.insert(wanted).inserted { return wanted }
    return (1...UInt16.max).first { taken.insert($0).inserted }
  }
}
