internal import Glibc
internal import SprocketCodecs
internal import SprocketCore

/// How stills are named: the folder, and a pattern with places for what tells them apart.
///
/// `FOLDER` is short for `FOLDER/still-{n}.jpg`.
struct StillName: Sendable {
  private enum Part: Sendable {
    case text([UInt8])
    case number
    case time
    case source
    case bracket
  }

  private static let parts: [String: Part] = [
    "n": .number, "time": .time, "name": .source, "bracket": .bracket,
  ]
  /// The words of a name's places.
  static let places = ["n", "time", "name", "bracket"]

  let folder: String
  let format: StillFormat
  /// The user gave a pattern.
  let isPattern: Bool
  private var parts: [Part]
  private let ending: [UInt8]

  /// Digits of a number in a name. Larger: names sort for longer: 8 digits last 19 days at 60 frames/s.
  static let digits = 8
  /// What a name has before its ending until it is complete.
  private static let partial = Array(".partial".utf8)
  /// Bytes of a name and of what it has until it is complete; Linux allows 255.
  static let most = 255

  /// Throws for names that cannot be those of stills. A single one needs no number.
  init(path: String, isSingle: Bool = false) throws(RunError) {
    let cut = path.lastIndex(of: "/")
    let name = cut.map { path[path.index(after: $0)...] } ?? path[...]
    let parent = cut.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let format = StillFormat(ending: String(name))
    guard !OutputName(String(name)).places.isEmpty || format != nil else {
      (folder, self.format, isPattern) = (OutputName(path).path, .jpeg, false)
      parts = [.text(Array("still-".utf8)), .number]
      ending = Array(".jpg".utf8)
      return
    }
    guard let format else {
      throw RunError(
        .usage,
        "stills cannot be named \(name): the ending says what they are; use .jpg, .png, .tif or .dng"
      )
    }
    let folders = OutputName(parent)
    guard folders.places.isEmpty else {
      throw RunError(
        .usage, "stills cannot be named \(path): only the file's name has places such as {n}")
    }
    let point = name.lastIndex(of: ".") ?? name.endIndex
    parts = try Self.parts(of: name[..<point])
    (folder, self.format, isPattern) = (folders.path, format, true)
    ending = Array(OutputName(String(name[point...])).path.utf8)
    guard isSingle || !isFixed else {
      throw RunError(
        .usage,
        "stills cannot all be named \(name): add {n}, the frame's number, {time}, or {bracket}, such as "
          + "still-{n}\(name[point...])")
    }
  }

  private static func parts(of name: Substring) throws(RunError) -> [Part] {
    guard let pattern = OutputName(settingText: String(name)),
      pattern.places.allSatisfy(places.contains)
    else {
      let known = places.map { "{\($0)}" }.joined(separator: ", ")
      throw RunError(
        .usage,
        "stills cannot be named \(name): the places of a name are \(known); a brace is written twice, as {{"
      )
    }
    return pattern.parts.compactMap { part in
      switch part {
      case .text(let text): .text(Array(text.utf8))
      case .place(let word): parts[word]
      }
    }
  }

  /// The name with `{name}` filled in: what is no letter, digit, point or sign of a device's or file's name
  /// becomes a hyphen.
  func of(_ source: String) -> StillName {
    let base = source.split(separator: "/").last ?? "source"
    let letters = base.utf8.prefix(100).map { letter -> UInt8 in
      switch letter {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"):
        letter
      default: UInt8(ascii: "-")
      }
    }
    var name = self
    name.parts = parts.map { if case .source = $0 { .text(letters) } else { $0 } }
    return name
  }

  /// Whether names have the number of a bracket's step.
  var hasStep: Bool { parts.contains { if case .bracket = $0 { true } else { false } } }

  /// Whether names have the time of the frame, which may come again: a clock is set back, or an hour repeats.
  var hasTime: Bool { parts.contains { if case .time = $0 { true } else { false } } }

  /// Whether there is one name for all frames.
  var isFixed: Bool {
    parts.allSatisfy {
      switch $0 {
      case .text, .source: true
      case .number, .time, .bracket: false
      }
    }
  }

  /// Bytes that the longest name takes.
  var mostBytes: Int {
    parts.reduce(ending.count + Self.partial.count + 11) { sum, part in
      switch part {
      case .text(let text): sum + text.count
      case .number: sum + 20
      case .time: sum + 24
      case .source: sum + 100
      case .bracket: sum + 10
      }
    }
  }

  /// Writes the name of a frame's still into `text`. Allocates nothing.
  func write(_ still: StillMark, isPartial: Bool, into text: inout ASCIIText) {
    text.removeAll()
    for part in parts {
      switch part {
      case .text(let bytes): text.append(bytes)
      case .number: text.append(still.number, digits: Self.digits)
      case .time: text.append(still)
      case .source: break
      case .bracket: text.append(UInt64(still.step))
      }
    }
    if still.copy > 1 {
      text.append("-")
      text.append(UInt64(still.copy))
    }
    if isPartial { text.append(Self.partial) }
    text.append(ending)
  }
}

/// What a still's name is made of.
struct StillMark: Sendable {
  /// Running number of the frame.
  let number: UInt64
  /// When it was captured, in nanoseconds on the source's clock.
  let captured: Int64
  /// The same since 1970; `nil` where that is not known.
  let wall: Int64?
  /// Number of the bracket's step, from 1; 0 for all other frames.
  let step: UInt32
  /// A request has chosen its frame, which may have a still already.
  var isChosen = false
  /// Number among stills of this run that would have the same name, from 1.
  var copy: UInt32 = 1

  init(_ record: FrameRecord, step: UInt32 = 0) {
    self.step = step
    (number, captured) = (record.number, record.captured.nanoseconds)
    wall = WallClock.shared.time(of: record.captured)
  }
}

extension ASCIIText {
  /// `20261125-123048-123`: date, time and milliseconds. Where only a file's own time line is known, hours,
  /// minutes and seconds on that, and milliseconds: `000048-123`.
  fileprivate mutating func append(_ still: StillMark) {
    guard let wall = still.wall else {
      let milliseconds = UInt64(max(0, still.captured)) / 1_000_000
      append(milliseconds / 3_600_000, digits: 2)
      append(milliseconds / 60_000 % 60, digits: 2)
      append(milliseconds / 1000 % 60, digits: 2)
      append("-")
      return append(milliseconds % 1000, digits: 3)
    }
    let time = CalendarTime(nanoseconds: wall)
    append(UInt64(max(0, time.year)), digits: 4)
    append(UInt64(time.month), digits: 2)
    append(UInt64(time.day), digits: 2)
    append("-")
    append(UInt64(time.hour), digits: 2)
    append(UInt64(time.minute), digits: 2)
    append(UInt64(time.second), digits: 2)
    append("-")
    append(UInt64(time.nanosecond / 1_000_000), digits: 3)
  }
}
