internal import SprocketCore
internal import SprocketFiles
internal import SprocketMCAP
internal import SprocketTimes

/// The kinds of records of a dump. Each is JSON on a channel of its own, and has a file in this module with
/// its keys, its schema, and what writes and reads it. `docs/dump.md` has the keys with their units.
package enum RecordKind: String, Sendable {
  case session, source, fate, range, ledger, microphone, block

  /// The channel's topic, behind the name of the source where a dump has several.
  package var topic: String { rawValue }
  package var schemaName: String { "sprocket.\(rawValue)" }

  /// What a channel's messages are; `nil` where they are no records of ours.
  package init?(schema: String?, encoding: String) {
    guard encoding == "json", let schema, schema.hasPrefix("sprocket.") else { return nil }
    self.init(rawValue: String(schema.dropFirst("sprocket.".count)))
  }
}

/// An enumeration that records store as a word.
package protocol RecordWord: CaseIterable, Equatable, Sendable {
  var word: StaticString { get }
}

extension RecordWord {
  /// All words, for a schema.
  static var words: [String] { allCases.map { "\($0.word)" } }
}

extension JSONScanner {
  /// Reads a time in nanoseconds and limits it to `TimeGate.limit`; `nil` for null.
  mutating func time(_ bytes: Span<UInt8>) throws(JSONScanner.Failure) -> Int64? {
    try integer(Int64.self, bytes).map { TimeGate.bounded(Int128($0)) }
  }

  /// Reads a word; `nil` for null and for an unknown word.
  mutating func word<Word: RecordWord>(
    _ bytes: Span<UInt8>
  ) throws(JSONScanner.Failure) -> Word? {
    guard let text = try textRange(bytes) else { return nil }
    return Word.allCases.first { bytes.equals($0.word, text) }
  }
}

extension TextTarget where Self: ~Copyable {
  /// Appends a word as a JSON string.
  mutating func append(_ word: some RecordWord) throws(RunError) {
    try append(UInt8(ascii: "\""))
    try append(word.word)
    try append(UInt8(ascii: "\""))
  }
}

/// Reason why the source marked a frame as unusable.
package enum SourceVerdict: RecordWord {
  case corrupt, startup

  package var word: StaticString {
    switch self {
    case .corrupt: "corrupt"
    case .startup: "startup"
    }
  }

  init?(_ fate: Fate?) {
    switch fate {
    case .corrupt: self = .corrupt
    case .startup: self = .startup
    default: return nil
    }
  }
}

extension Timestamp.Clock: RecordWord {
  package var word: StaticString {
    switch self {
    case .monotonic: "monotonic"
    case .media: "media"
    case .recorded: "recorded"
    }
  }
}

extension CapturePoint: RecordWord {
  package var word: StaticString {
    switch self {
    case .unknown: "unknown"
    case .startOfExposure: "start_of_exposure"
    case .endOfFrame: "end_of_frame"
    case .estimated: "estimated"
    }
  }
}
