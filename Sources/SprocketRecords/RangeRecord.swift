package import SprocketCore
package import SprocketFiles
internal import SprocketMCAP

private enum Key {
  static let sourceFate: StaticString = "source_fate"
  static let number: StaticString = "first_number"
  static let sequence: StaticString = "first_sequence"
  static let frames: StaticString = "frames"
}

/// Why frames are not in a dump.
private enum Reason: RecordWord {
  case overrun, behind

  var word: StaticString {
    switch self {
    case .overrun: "overrun"
    case .behind: "behind"
    }
  }
}

/// Record of a run of consecutive frames that the dump stores without their bytes. Events can belong to the
/// first of these frames only.
package struct RangeRecord: Sendable {
  package var first: LostFrame
  package var count: UInt64

  package init(_ first: LostFrame) { (self.first, count) = (first, 1) }

  /// Takes the frame in, if it belongs to the others.
  package mutating func extend(_ next: LostFrame) -> Bool {
    guard next.fate == first.fate, next.sourceFate == first.sourceFate, next.epoch == first.epoch,
      next.number == first.number + count, next.events.isEmpty
    else { return false }
    count += 1
    return true
  }

  package static let schema: JSONProperties = {
    var keys = JSONProperties()
    keys.add(
      FrameKey.fate, of: Reason.words,
      "overrun: the engine had no room; behind: the dump came too late, or the run ended")
    keys.add(
      Key.sourceFate, of: SourceVerdict.words, "what the source said of them", isRequired: false)
    keys.add(FrameKey.epoch, "integer", "as in source")
    keys.add(Key.number, "integer", "number of the first of these frames")
    keys.add(Key.sequence, "integer", "its sequence")
    keys.add(Key.frames, "integer", "how many follow each other")
    keys.addEvents()
    return keys
  }()

  package func write(_ lookup: SettingsLookup, to text: inout TextBuffer) throws(RunError) {
    try text.append(key: FrameKey.fate, isFirst: true)
    try text.append(first.fate == .overrun ? Reason.overrun : .behind)
    if let verdict = SourceVerdict(first.sourceFate) {
      try text.append(key: Key.sourceFate)
      try text.append(verdict)
    }
    try text.append(key: FrameKey.epoch)
    try text.append(decimal: first.epoch)
    try text.append(key: Key.number)
    try text.append(decimal: first.number)
    try text.append(key: Key.sequence)
    try text.append(decimal: first.sequence)
    try text.append(key: Key.frames)
    try text.append(decimal: count)
    try text.appendEvents(of: first, lookup, digits: 17)
    try text.append(UInt8(ascii: "}"))
  }

  /// Reads a range, as the first of its frames; `nil` where it is none. Appends their events to `events`.
  package static func read(_ bytes: Span<UInt8>, events: inout ReplayEvents) -> ReplayFrame? {
    var frame = ReplayFrame()
    let first = events.events.count
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        switch true {
        case bytes.equals(Key.number, key):
          frame.number = try json.integer(UInt64.self, bytes) ?? 0
        case bytes.equals(Key.sequence, key):
          frame.sequence = try json.integer(UInt64.self, bytes) ?? 0
        case bytes.equals(Key.frames, key):
          frame.skipped = try json.integer(UInt64.self, bytes) ?? 0
        case bytes.equals(FrameKey.epoch, key):
          frame.epoch = try json.integer(UInt32.self, bytes) ?? 0
        case bytes.equals(Key.sourceFate, key): frame.verdict = try json.word(bytes)
        case bytes.equals(EventKey.events, key):
          try json.readEvents(bytes, to: &events, from: first)
        default: try json.skip(bytes)
        }
      }
      // No dump has a range with more frames than a camera delivers in a year.
      guard (1...UInt64(UInt32.max)).contains(frame.skipped) else { throw JSONScanner.Failure() }
    } catch {
      events.cut(to: first)
      return nil
    }
    frame.events = Int32(first)..<Int32(events.events.count)
    return frame
  }
}
