package import SprocketCore

extension ASCIIText {
  /// `2026:11:25 12:30:48`, as EXIF has it, or with other separators.
  package mutating func appendDate(
    _ time: CalendarTime, separator: StaticString = ":", middle: StaticString = " "
  ) {
    append(UInt64(max(0, time.year)), digits: 4)
    appendPair(separator, time.month)
    appendPair(separator, time.day)
    appendPair(middle, time.hour)
    appendPair(":", time.minute)
    appendPair(":", time.second)
  }

  /// `2026-11-25T12:30:48.123456Z`, ISO 8601; the time must be in UTC.
  package mutating func appendISODate(_ time: CalendarTime) {
    appendDate(time, separator: "-", middle: "T")
    append(".")
    append(UInt64(time.nanosecond / 1000), digits: 6)
    append("Z")
  }

  /// `+01:00`.
  package mutating func appendOffset(_ time: CalendarTime) {
    appendPair(time.offset < 0 ? "-" : "+", abs(time.offset) / 60)
    appendPair(":", abs(time.offset) % 60)
  }

  private mutating func appendPair(_ start: StaticString, _ number: Int) {
    append(start)
    append(UInt64(number), digits: 2)
  }
}
