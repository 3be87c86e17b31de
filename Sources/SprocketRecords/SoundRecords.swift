package import SprocketCore
package import SprocketFiles
package import SprocketMCAP

private enum Key {
  static let microphone: StaticString = "microphone"
  static let name: StaticString = "name"
  static let number: StaticString = "number"
  static let rate: StaticString = "rate"
  static let channels: StaticString = "channels"
  static let speakers: StaticString = "speakers"
  static let live: StaticString = "live"
  static let blockSamples: StaticString = "block_samples"
  static let sample: StaticString = "sample"
  static let count: StaticString = "count"
  static let missing: StaticString = "missing"
  static let behind: StaticString = "behind"
  static let segment: StaticString = "segment"
  static let time: StaticString = "time_ns"
  static let placed: StaticString = "placed"
  static let measuredRate: StaticString = "rate_hz"
  static let read: StaticString = "read_ns"
  static let statusAhead: StaticString = "status_ahead"
  static let statusTime: StaticString = "status_ns"
  static let exactTime: StaticString = "exact_ns"
}

/// A source of sound.
package enum MicrophoneRecord {
  package static let schema: JSONProperties = {
    var keys = JSONProperties()
    keys.add(Key.microphone, "integer", "counts the run's sources of sound, from 0")
    keys.add(Key.name, "string", "the source's name")
    keys.add(Key.number, of: AudioFormat.Number.allCases.map(\.rawValue), "how a number is stored")
    keys.add(Key.rate, "integer", "Hz, nominal")
    keys.add(Key.channels, "integer", "")
    keys.add(
      Key.speakers, "integer",
      "where they are heard, as dwChannelMask of WAV says; 0 where not known",
      isRequired: false)
    keys.add(Key.live, "boolean", "sound did not wait")
    keys.add(FrameKey.clock, of: Timestamp.Clock.words, "of time_ns")
    keys.add(Key.blockSamples, "integer", "most samples in a block")
    return keys
  }()

  /// The record as JSON.
  package static func text(_ source: AudioDescription, _ index: Int) -> [UInt8] {
    let format = source.format
    return Array(
      object([
        (Key.microphone, "\(index)"), (Key.name, quoted(source.name)),
        (Key.number, quoted(format.number.rawValue)), (Key.rate, "\(format.rate)"),
        (Key.channels, "\(format.channels)"), (Key.speakers, "\(format.speakers)"),
        (Key.live, "\(source.isLive)"),
        (FrameKey.clock, quoted("\(source.clock.word)")),
        (Key.blockSamples, "\(source.blockSamples)"),
      ]).utf8)
  }

  /// Reads a record; `nil` for invalid JSON or missing keys.
  package static func read(_ bytes: Span<UInt8>) -> ReplayMicrophone? {
    var (index, rate, channels, speakers) = (0, 0, 0, 0)
    var (name, number): (String?, String?) = (nil, nil)
    var clock: Timestamp.Clock?
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        switch true {
        case bytes.equals(Key.microphone, key): index = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals(Key.name, key): name = try json.string(bytes)
        case bytes.equals(Key.number, key): number = try json.string(bytes)
        case bytes.equals(Key.rate, key): rate = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals(Key.channels, key): channels = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals(Key.speakers, key): speakers = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals(FrameKey.clock, key): clock = try json.word(bytes)
        default: try json.skip(bytes)
        }
      }
    } catch {
      return nil
    }
    guard let kind = AudioFormat.Number(rawValue: number ?? ""), AudioFormat.rates.contains(rate),
      1...AudioFormat.mostChannels ~= channels
    else { return nil }
    var format = AudioFormat(number: kind, rate: rate, channels: channels)
    format.speakers = UInt32(exactly: speakers) ?? 0
    return ReplayMicrophone(
      microphone: index, name: name ?? "", format: format, isMonotonic: clock == .monotonic)
  }
}

/// What a dump says of a source of sound.
package struct ReplayMicrophone: Sendable {
  package var microphone = 0
  package var name = ""
  package var format: AudioFormat
  /// Times are on the monotonic clock of the machine that recorded the dump.
  package var isMonotonic = false
}

/// A block of sound, as a dump tells of it.
package struct BlockRecord {
  /// Counts the run's microphones, from 0.
  package var microphone: Int
  package var record: AudioRecord
  /// What is known of the clock now.
  package var line: AudioLine
  package var format: AudioFormat
  /// Samples just before it: lost by the source, and by the dump, which came too late.
  package var missing: UInt64
  package var behind: UInt64

  package init(
    microphone: Int, record: AudioRecord, line: AudioLine, format: AudioFormat, missing: UInt64,
    behind: UInt64
  ) {
    (self.microphone, self.record, self.line, self.format) = (microphone, record, line, format)
    (self.missing, self.behind) = (missing, behind)
  }

  /// When its first sample was heard, nanoseconds; before the clock is known, as if the block had been read
  /// as its last sample was heard.
  package var time: Int64 {
    line.isPlaced
      ? line.time(of: record.first)
      : record.read.clampedSum(-format.nanoseconds(record.count))
  }

  package static let schema: JSONProperties = {
    var keys = JSONProperties()
    keys.add(Key.microphone, "integer", "as in microphone")
    keys.add(Key.sample, "integer", "number of the first sample in the run, lost ones counted")
    keys.add(Key.count, "integer", "samples in the block")
    keys.add(Key.missing, "integer", "samples just before it that the source lost")
    keys.add(Key.behind, "integer", "samples just before it that the dump was too late for")
    keys.add(Key.segment, "integer", "counts the gaps before")
    keys.add(Key.time, "integer", "ns, when the first sample was heard")
    keys.add(Key.placed, "boolean", "time_ns is measured; else it is read_ns less the block")
    keys.add(Key.measuredRate, "number", "samples per second, measured or nominal")
    keys.add(Key.read, "integer", "ns on the monotonic clock, when the block was read")
    keys.add(
      Key.statusAhead, "integer", "the device's status: so many samples behind the first one",
      isRequired: false)
    keys.add(Key.statusTime, "integer", "ns, it was this time", isRequired: false)
    keys.add(
      Key.exactTime, "integer", "ns, time of the first sample in a file", isRequired: false)
    return keys
  }()

  package func write(to text: inout TextBuffer) throws(RunError) {
    try text.append(key: Key.microphone, isFirst: true)
    try text.append(decimal: microphone)
    try text.append(key: Key.sample)
    try text.append(decimal: record.first)
    try text.append(key: Key.count)
    try text.append(decimal: record.count)
    try text.append(key: Key.missing)
    try text.append(decimal: missing)
    try text.append(key: Key.behind)
    try text.append(decimal: behind)
    try text.append(key: Key.segment)
    try text.append(decimal: record.line.segment)
    try text.append(key: Key.time)
    try text.append(decimal: time)
    try text.append(key: Key.placed)
    try text.append(line.isPlaced ? "true" : "false")
    try text.append(key: Key.measuredRate)
    try text.append(line.rate, digits: 17)
    try text.append(key: Key.read)
    try text.append(decimal: record.read)
    switch record.timing {
    case .exact(let time):
      try text.append(key: Key.exactTime)
      try text.append(decimal: time)
    case .status(let ahead, let time):
      try text.append(key: Key.statusAhead)
      try text.append(decimal: ahead)
      try text.append(key: Key.statusTime)
      try text.append(decimal: time)
    case .unknown: break
    }
    try text.append(UInt8(ascii: "}"))
  }

  /// Reads a record; `nil` for invalid JSON or missing keys.
  package static func read(_ bytes: Span<UInt8>) -> ReplayBlock? {
    var block = ReplayBlock()
    var known = 0
    var (ahead, status): (Int?, Int64?) = (nil, nil)
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        switch true {
        case bytes.equals(Key.microphone, key):
          block.microphone = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals(Key.sample, key):
          block.sample = try json.integer(UInt64.self, bytes) ?? 0
          known += 1
        case bytes.equals(Key.count, key):
          block.count = try json.integer(Int.self, bytes) ?? 0
          known += 1
        case bytes.equals(Key.missing, key):
          block.missing = try json.integer(UInt64.self, bytes) ?? 0
        case bytes.equals(Key.segment, key):
          block.segment = try json.integer(UInt32.self, bytes) ?? 0
        case bytes.equals(Key.time, key):
          block.time = try json.time(bytes) ?? 0
          known += 1
        case bytes.equals(Key.read, key): block.read = try json.time(bytes) ?? 0
        case bytes.equals(Key.statusAhead, key): ahead = try json.integer(Int.self, bytes)
        case bytes.equals(Key.statusTime, key): status = try json.time(bytes)
        case bytes.equals(Key.exactTime, key):
          block.timing = .exact(try json.time(bytes) ?? 0)
        default: try json.skip(bytes)
        }
      }
    } catch {
      return nil
    }
    if let ahead, let status { block.timing = .status(ahead: ahead, time: status) }
    // More samples than any run makes in a year would become as much silence.
    return known == 3 && block.sample < 1 << 44 && block.missing < 1 << 40 ? block : nil
  }
}

/// A block of sound of a dump, as its record has it, and where its samples are.
package struct ReplayBlock: Sendable {
  package var microphone = 0
  /// Number of the first sample, lost ones counted.
  package var sample: UInt64 = 0
  package var count = 0
  /// Samples that the source lost just before.
  package var missing: UInt64 = 0
  package var segment: UInt32 = 0
  /// Nanoseconds: when the first sample was heard, and when the block was read, on the monotonic clock of
  /// then.
  package var time: Int64 = 0
  package var read: Int64 = 0
  package var timing = ArrivedSound.Timing.unknown
  package var place: MCAPMessagePlace?

  package init() {}

  package var end: UInt64 { sample &+ UInt64(count) }
}
