package import SprocketCore
package import SprocketFiles
package import SprocketMCAP

/// Keys that several kinds of records have.
enum FrameKey {
  static let number: StaticString = "number"
  static let sequence: StaticString = "sequence"
  static let epoch: StaticString = "epoch"
  static let captured: StaticString = "captured_ns"
  static let clock: StaticString = "clock"
  static let point: StaticString = "point"
  static let dequeued: StaticString = "dequeued_ns"
  static let bytes: StaticString = "bytes"
  static let driverFlags: StaticString = "driver_flags"
  static let fate: StaticString = "fate"
}

/// What the source said of a frame that arrived.
package enum SourceRecord {
  package static let schema: JSONProperties = {
    var keys = JSONProperties()
    keys.add(
      FrameKey.number, "integer", "among all frames produced in the run, gaps counted, from 0")
    keys.add(FrameKey.sequence, "integer", "the source's own number")
    keys.add(FrameKey.epoch, "integer", "the session that the frame belongs to")
    keys.add(FrameKey.captured, "integer", "ns, when light became this frame")
    keys.add(FrameKey.clock, of: Timestamp.Clock.words, "of captured_ns")
    keys.add(FrameKey.point, of: CapturePoint.words, "what captured_ns stands for")
    keys.add(
      FrameKey.dequeued, "integer", "ns on the monotonic clock, when the source handed it over")
    keys.add(
      FrameKey.bytes, "integer", "of the image; 0 where nothing arrived and there is no image")
    keys.add(FrameKey.driverFlags, "integer", "v4l2_buffer.flags; 0 where there is no driver")
    keys.add(
      FrameKey.fate, of: SourceVerdict.words, "what the source said against it, if anything",
      isRequired: false)
    keys.addControls()
    return keys
  }()

  /// Writes a frame's record. `count` is the number of the frame's bytes that the file contains.
  package static func write(
    _ frame: borrowing FrameView, bytes count: Int, _ lookup: SettingsLookup,
    to text: inout TextBuffer
  ) throws(RunError) {
    let record = frame.record
    try text.append(key: FrameKey.number, isFirst: true)
    try text.append(decimal: record.number)
    try text.append(key: FrameKey.sequence)
    try text.append(decimal: record.sequence)
    try text.append(key: FrameKey.epoch)
    try text.append(decimal: record.epoch)
    try text.append(key: FrameKey.captured)
    try text.append(decimal: record.captured.nanoseconds)
    try text.append(key: FrameKey.clock)
    try text.append(record.captured.clock)
    try text.append(key: FrameKey.point)
    try text.append(record.capturePoint)
    try text.append(key: FrameKey.dequeued)
    try text.append(decimal: record.dequeued)
    try text.append(key: FrameKey.bytes)
    try text.append(decimal: count)
    try text.append(key: FrameKey.driverFlags)
    try text.append(decimal: record.driverFlags)
    if let verdict = SourceVerdict(record.chainFate) {
      try text.append(key: FrameKey.fate)
      try text.append(verdict)
    }
    // 9 and 17 digits restore every bit of a `Float` and of a `Double`: replays depend on it.
    try text.append(record.inForce, digits: 9)
    try text.appendEvents(of: frame, lookup, digits: 17)
    try text.append(UInt8(ascii: "}"))
  }

  /// Reads a record; `nil` where it is none. Appends the frame's events to `events`.
  package static func read(_ bytes: Span<UInt8>, events: inout ReplayEvents) -> ReplayFrame? {
    var frame = ReplayFrame()
    var known = 0
    let first = events.events.count
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        switch true {
        case bytes.equals(FrameKey.number, key):
          frame.number = try json.integer(UInt64.self, bytes) ?? 0
          known += 1
        case bytes.equals(FrameKey.sequence, key):
          frame.sequence = try json.integer(UInt64.self, bytes) ?? 0
          known += 1
        case bytes.equals(FrameKey.epoch, key):
          frame.epoch = try json.integer(UInt32.self, bytes) ?? 0
        case bytes.equals(FrameKey.captured, key):
          frame.captured = try json.time(bytes) ?? 0
          known += 1
        case bytes.equals(FrameKey.dequeued, key): frame.dequeued = try json.time(bytes) ?? 0
        case bytes.equals(FrameKey.bytes, key): frame.bytes = try json.integer(Int.self, bytes) ?? 0
        case bytes.equals(FrameKey.driverFlags, key):
          frame.driverFlags = try json.integer(UInt32.self, bytes) ?? 0
        case bytes.equals(FrameKey.point, key):
          frame.capturePoint = try json.word(bytes) ?? .unknown
        case bytes.equals(FrameKey.fate, key): frame.verdict = try json.word(bytes)
        case bytes.equals(EventKey.events, key):
          try json.readEvents(bytes, to: &events, from: first)
        default: try json.readControls(bytes, key, to: &frame.inForce)
        }
      }
      guard known == 3, frame.bytes >= 0 else { throw JSONScanner.Failure() }
    } catch {
      events.cut(to: first)
      return nil
    }
    frame.events = Int32(first)..<Int32(events.events.count)
    return frame
  }
}

/// A frame of a dump, as its record has it, and where its bytes are.
package struct ReplayFrame: Sendable {
  package var number: UInt64 = 0
  package var sequence: UInt64 = 0
  package var epoch: UInt32 = 0
  /// Nanoseconds, on the clock that the session names.
  package var captured: Int64 = 0
  /// Nanoseconds, on the monotonic clock of then.
  package var dequeued: Int64 = 0
  package var bytes = 0
  package var driverFlags: UInt32 = 0
  package var capturePoint = CapturePoint.unknown
  package var verdict: SourceVerdict?
  package var wasLate = false
  /// Number of consecutive frames without bytes in the dump, this one first; 0 outside such a range.
  package var skipped: UInt64 = 0
  package var inForce = ControlState()
  /// A range that was shortened to nothing and is removed.
  package var isEmptyRange = false
  /// The range of its events in `ReplayEvents.events`.
  package var events: Range<Int32> = 0..<0
  /// `nil` where there are no bytes.
  package var place: MCAPMessagePlace?

  package init() {}

  package var isCorrupt: Bool { verdict == .corrupt }
  package var isStartup: Bool { verdict == .startup }
  /// The log time of its messages, as the dump writes it: a negative time becomes 0.
  package var logTime: UInt64 { UInt64(max(captured, 0)) }
}
