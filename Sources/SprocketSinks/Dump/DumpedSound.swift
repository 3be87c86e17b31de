internal import SprocketCore
internal import SprocketFiles
internal import SprocketMCAP

/// A block of sound, as a dump tells of it.
struct DumpedBlock {
  /// Counts the run's microphones, from 0.
  var microphone: Int
  var record: AudioRecord
  /// What is known of the clock now.
  var line: AudioLine
  var format: AudioFormat
  /// Samples just before it: lost by the source, and by the dump, which came too late.
  var missing: UInt64
  var behind: UInt64

  /// When its first sample was heard, nanoseconds; before the clock is known, as if the block had been read
  /// as its last sample was heard.
  var time: Int64 {
    line.isPlaced
      ? line.time(of: record.first)
      : record.read.clampedSum(-format.nanoseconds(record.count))
  }
}

/// The sound in a dump, which is `foxglove.RawAudio`, and how much of it is in the file.
struct DumpedSound: ~Copyable {
  /// Bytes that are planned for a chunk: a second of stereo. More is allowed.
  private static let plannedBytes = 1 << 18

  var blocks = MCAPChunk(capacity: plannedBytes)
  /// The fields behind the bytes, per microphone.
  private var fields: [[UInt8]] = []
  private var untold: [AudioDescription]?
  /// Samples in the chunk, and in the file.
  private var pendingSamples: [UInt64] = []
  private var durableSamples: [UInt64] = []

  init(_ sources: [AudioDescription] = []) {
    untold = sources.isEmpty ? nil : sources
    pendingSamples = sources.map { _ in 0 }
    durableSamples = pendingSamples
    fields = sources.map { source in
      var message = ProtobufMessage()
      message.add(3, source.format.number.foxgloveFormat)
      message.add(4, fixed: UInt32(source.format.rate))
      message.add(5, fixed: UInt32(source.format.channels))
      return message.bytes
    }
  }

  /// The sources of sound, once.
  mutating func takeUntold() -> [AudioDescription]? { untold.take() }

  /// Everything before the samples, of which there are `count` bytes.
  func appendStart(_ block: DumpedBlock, count: Int, to text: inout TextBuffer) throws(RunError) {
    try text.append(protobufTime: block.time)
    try text.append(fields[block.microphone])
    try text.append(ProtobufMessage.tagByte(2, .bytes))
    try text.append(varint: UInt64(count))
  }

  mutating func count(_ block: DumpedBlock) {
    pendingSamples[block.microphone] += UInt64(block.record.count)
  }

  /// The chunk is in the file.
  mutating func noteDurable() {
    for index in pendingSamples.indices {
      durableSamples[index] += pendingSamples[index]
      pendingSamples[index] = 0
    }
  }

  func durable(_ microphone: Int) -> UInt64 { durableSamples[microphone] }
}

extension AudioFormat.Number {
  /// As `foxglove.RawAudio` names 16 bits, and the others after it: `pcm-s24` has three bytes each.
  var foxgloveFormat: String { "pcm-\(rawValue)" }
}

extension AudioDescription {
  /// The record of a microphone, as JSON.
  func dumped(_ index: Int) -> [UInt8] {
    let fields = [
      #""microphone":\#(index)"#,
      #""name":\#(String(decoding: jsonString(name), as: UTF8.self))"#,
      #""number":"\#(format.number.rawValue)""#, #""rate":\#(format.rate)"#,
      #""channels":\#(format.channels)"#, #""live":\#(isLive)"#, #""clock":"\#(clock)""#,
      #""block_samples":\#(blockSamples)"#,
    ]
    return Array("{\(fields.joined(separator: ","))}".utf8)
  }
}

extension TextTarget where Self: ~Copyable {
  /// Appends the record of a block.
  mutating func append(_ block: DumpedBlock) throws(RunError) {
    let record = block.record
    try append("{\"microphone\":")
    try append(decimal: block.microphone)
    try append(",\"sample\":")
    try append(decimal: record.first)
    try append(",\"count\":")
    try append(decimal: record.count)
    try append(",\"missing\":")
    try append(decimal: block.missing)
    try append(",\"behind\":")
    try append(decimal: block.behind)
    try append(",\"segment\":")
    try append(decimal: record.line.segment)
    try append(",\"time_ns\":")
    try append(decimal: block.time)
    try append(block.line.isPlaced ? ",\"placed\":true" : ",\"placed\":false")
    try append(",\"rate_hz\":")
    try append(block.line.rate, digits: 17)
    try append(",\"read_ns\":")
    try append(decimal: record.read)
    switch record.timing {
    case .exact(let time):
      try append(",\"exact_ns\":")
      try append(decimal: time)
    case .status(let ahead, let time):
      try append(",\"status_ahead\":")
      try append(decimal: ahead)
      try append(",\"status_ns\":")
      try append(decimal: time)
    case .unknown: break
    }
    try append(UInt8(ascii: "}"))
  }
}

extension DumpSchemas {
  static let microphone: JSONProperties = {
    var keys = JSONProperties()
    keys.add("microphone", "integer", "counts the run's sources of sound, from 0")
    keys.add("name", "string", "the source's name")
    keys.add("number", of: AudioFormat.Number.allCases.map(\.rawValue), "how a number is stored")
    keys.add("rate", "integer", "Hz, nominal")
    keys.add("channels", "integer", "")
    keys.add("live", "boolean", "sound did not wait")
    keys.add("clock", of: clocks, "of time_ns")
    keys.add("block_samples", "integer", "most samples in a block")
    return keys
  }()

  static let block: JSONProperties = {
    var keys = JSONProperties()
    keys.add("microphone", "integer", "as in microphone")
    keys.add("sample", "integer", "number of the first sample in the run, lost ones counted")
    keys.add("count", "integer", "samples in the block")
    keys.add("missing", "integer", "samples just before it that the source lost")
    keys.add("behind", "integer", "samples just before it that the dump was too late for")
    keys.add("segment", "integer", "counts the gaps before")
    keys.add("time_ns", "integer", "ns, when the first sample was heard")
    keys.add("placed", "boolean", "time_ns is measured; else it is read_ns less the block")
    keys.add("rate_hz", "number", "samples per second, measured or nominal")
    keys.add("read_ns", "integer", "ns on the monotonic clock, when the block was read")
    keys.add(
      "status_ahead", "integer", "the device's status: so many samples behind the first one",
      isRequired: false)
    keys.add("status_ns", "integer", "ns, it was this time", isRequired: false)
    keys.add("exact_ns", "integer", "ns, time of the first sample in a file", isRequired: false)
    return keys
  }()
}
