import SprocketCore

/// What a place in the text stands for.
enum TextPlace: String, CaseIterable {
  case date, time, zone, frame

  static var names: [String] { allCases.map(\.rawValue) }

  /// Letters that it usually takes.
  var usualCount: Int {
    switch self {
    case .date: 10
    case .time: 12
    case .zone: 6
    case .frame: 8
    }
  }
}

/// The line of one frame, as numbers of glyphs. Its memory is allocated once; what is longer is left out.
struct TextLine {
  private enum Part {
    case glyphs([UInt8])
    case place(TextPlace)
  }

  /// Longest line. Larger: more memory; at the smallest size it is wider than the pictures of cameras.
  private static let capacity = 1024

  private var parts: [Part] = []
  private let inUTC: Bool
  /// Whether a place tells when the frame was captured.
  private let tellsTime: Bool
  private(set) var glyphs = [UInt8](repeating: 0, count: capacity)
  private(set) var count = 0
  /// A place that had nothing to say takes the space behind it along.
  private var skipsSpace = false

  init(_ text: OutputName = OutputName(), inUTC: Bool = false) {
    self.inUTC = inUTC
    for part in text.parts {
      switch part {
      case .text(let text): parts.append(.glyphs(Self.glyphs(of: text)))
      case .place(let word):
        // What nobody filled, as `{source}` outside of a described run, is shown as it is.
        parts.append(
          TextPlace(rawValue: word).map { .place($0) } ?? .glyphs(Self.glyphs(of: "{\(word)}")))
      }
    }
    tellsTime = parts.contains { part in
      if case .place(let place) = part { place != .frame } else { false }
    }
    // The first use of the time zone reads a file.
    if tellsTime { _ = CalendarTime(nanoseconds: wallClockNow()) }
  }

  private static func glyphs(of text: String) -> [UInt8] {
    text.map { $0.asciiValue.map { Font.glyph($0) } ?? Font.unknown }
  }

  /// Letters of a usual line.
  var usualCount: Int {
    parts.reduce(0) { sum, part in
      switch part {
      case .glyphs(let glyphs): sum + glyphs.count
      case .place(let place): sum + place.usualCount
      }
    }
  }

  /// Writes the line of a frame. Allocates nothing.
  mutating func write(_ record: FrameRecord) {
    (count, skipsSpace) = (0, false)
    let wall = tellsTime ? WallClock.shared.time(of: record.captured) : nil
    let calendar = wall.map { CalendarTime(nanoseconds: $0, inUTC: inUTC) }
    // The loop counts: an array's iterator allocates in a debug build.
    for index in parts.indices {
      switch parts[index] {
      case .glyphs(let text):
        for at in text.indices { append(text[at]) }
      case .place(.frame): append(record.number, digits: 1)
      case .place(let place):
        if let calendar {
          append(place, calendar)
        } else if place == .time {
          append(timeline: record.captured.nanoseconds)
        } else {
          skipsSpace = true
        }
      }
    }
    let space = Font.glyph(UInt8(ascii: " "))
    while count > 0, glyphs[count - 1] == space { count -= 1 }
  }

  private mutating func append(_ place: TextPlace, _ time: CalendarTime) {
    switch place {
    case .date:
      append(UInt64(max(0, time.year)), digits: 4)
      append("-", time.month)
      append("-", time.day)
    case .time:
      append(UInt64(time.hour), digits: 2)
      append(":", time.minute)
      append(":", time.second)
      append(ascii: ".")
      append(UInt64(time.nanosecond / 1_000_000), digits: 3)
    case .zone:
      if inUTC {
        append(ascii: "U")
        append(ascii: "T")
        append(ascii: "C")
      } else {
        append(ascii: time.offset < 0 ? "-" : "+")
        append(UInt64(abs(time.offset) / 60), digits: 2)
        append(":", abs(time.offset) % 60)
      }
    case .frame: break
    }
  }

  /// Hours, minutes, seconds and milliseconds of a clock that knows no date.
  private mutating func append(timeline nanoseconds: Int64) {
    let milliseconds = UInt64(max(0, nanoseconds)) / 1_000_000
    append(milliseconds / 3_600_000, digits: 2)
    append(":", Int(milliseconds / 60_000 % 60))
    append(":", Int(milliseconds / 1000 % 60))
    append(ascii: ".")
    append(milliseconds % 1000, digits: 3)
  }

  private mutating func append(_ start: Unicode.Scalar, _ number: Int) {
    append(ascii: start)
    append(UInt64(number), digits: 2)
  }

  /// At least so many digits.
  private mutating func append(_ number: UInt64, digits: Int) {
    var divisor: UInt64 = 1
    var length = 1
    while length < digits || number / divisor >= 10 {
      guard divisor <= UInt64.max / 10 else { break }
      divisor *= 10
      length += 1
    }
    while divisor > 0 {
      append(Font.glyph(UInt8(ascii: "0") + UInt8(number / divisor % 10)))
      divisor /= 10
    }
  }

  private mutating func append(ascii letter: Unicode.Scalar) {
    append(Font.glyph(UInt8(ascii: letter)))
  }

  private mutating func append(_ glyph: UInt8) {
    if skipsSpace {
      skipsSpace = false
      if glyph == Font.glyph(UInt8(ascii: " ")) { return }
    }
    guard count < glyphs.count else { return }
    glyphs[count] = glyph
    count += 1
  }
}
