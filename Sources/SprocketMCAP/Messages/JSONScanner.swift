/// Walks over one JSON text (RFC 8259), which may be foreign or damaged, without building a tree of it.
///
/// Each call is given the same bytes. Whatever is not as asked for throws; nothing traps.
package struct JSONScanner {
  package struct Failure: Error {
    package init() {}
  }

  package init() {}

  private var position = 0
  private var depth = 0
  /// Deepest nesting of objects and arrays that is read. Larger: a hostile file uses more of the stack. Our
  /// own have 4.
  private static let deepest = 32

  // MARK: Objects and arrays

  /// Takes `{` or `[`.
  package mutating func begin(_ bracket: StaticString, _ bytes: Span<UInt8>) throws(Failure) {
    try take(bracket, bytes)
    depth += 1
    if depth > Self.deepest { throw Failure() }
  }

  /// The next key of an object, without its quotes; `nil` at the object's end, which is taken.
  package mutating func nextKey(_ bytes: Span<UInt8>) throws(Failure) -> Range<Int>? {
    guard try continues(before: UInt8(ascii: "}"), bytes) else { return nil }
    let key = try takeString(bytes)
    try take(":", bytes)
    return key
  }

  /// True before an element of an array; false at the array's end, which is taken.
  package mutating func nextElement(_ bytes: Span<UInt8>) throws(Failure) -> Bool {
    try continues(before: UInt8(ascii: "]"), bytes)
  }

  private mutating func continues(
    before end: UInt8, _ bytes: Span<UInt8>
  ) throws(Failure) -> Bool {
    switch try peek(bytes) {
    case end:
      position += 1
      depth -= 1
      return false
    case UInt8(ascii: ","):
      position += 1
      // A comma is followed by something.
      if try peek(bytes) == end { throw Failure() }
      return true
    default: return true
    }
  }

  // MARK: Values

  /// A whole number, exactly; `nil` for null.
  package mutating func integer<Number: FixedWidthInteger>(
    _ type: Number.Type, _ bytes: Span<UInt8>
  ) throws(Failure) -> Number? {
    if try takeNull(bytes) { return nil }
    // Parsed as Int128 here: a generic function is not specialised for other modules.
    guard let whole = Int128(text(try takeNumber(bytes), bytes)),
      let number = Number(exactly: whole)
    else { throw Failure() }
    return number
  }

  /// A number; `nil` for null.
  package mutating func number(_ bytes: Span<UInt8>) throws(Failure) -> Double? {
    if try takeNull(bytes) { return nil }
    guard let number = Double(text(try takeNumber(bytes), bytes)) else { throw Failure() }
    return number
  }

  /// Text; `nil` for null. What is escaped stays as it is.
  package mutating func string(_ bytes: Span<UInt8>) throws(Failure) -> String? {
    try textRange(bytes).map { text($0, bytes) }
  }

  /// Where a text lies, without its quotes; `nil` for null.
  package mutating func textRange(_ bytes: Span<UInt8>) throws(Failure) -> Range<Int>? {
    try takeNull(bytes) ? nil : try takeString(bytes)
  }

  /// Any value, unseen.
  package mutating func skip(_ bytes: Span<UInt8>) throws(Failure) {
    switch try peek(bytes) {
    case UInt8(ascii: "{"):
      try begin("{", bytes)
      while try nextKey(bytes) != nil { try skip(bytes) }
    case UInt8(ascii: "["):
      try begin("[", bytes)
      while try nextElement(bytes) { try skip(bytes) }
    case UInt8(ascii: "\""): _ = try takeString(bytes)
    case UInt8(ascii: "t"): try take("true", bytes)
    case UInt8(ascii: "f"): try take("false", bytes)
    case UInt8(ascii: "n"): try take("null", bytes)
    default: _ = try takeNumber(bytes)
    }
  }

  // MARK: Tokens

  /// The next byte that is not white space.
  private mutating func peek(_ bytes: Span<UInt8>) throws(Failure) -> UInt8 {
    while position < bytes.count {
      let byte = bytes[position]
      guard byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D else { return byte }
      position += 1
    }
    throw Failure()
  }

  private mutating func take(_ word: StaticString, _ bytes: Span<UInt8>) throws(Failure) {
    _ = try peek(bytes)
    guard bytes.has(word, at: position) else { throw Failure() }
    position += word.utf8CodeUnitCount
  }

  private mutating func takeNull(_ bytes: Span<UInt8>) throws(Failure) -> Bool {
    guard try peek(bytes) == UInt8(ascii: "n") else { return false }
    try take("null", bytes)
    return true
  }

  private mutating func takeString(_ bytes: Span<UInt8>) throws(Failure) -> Range<Int> {
    try take("\"", bytes)
    let start = position
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return start..<position - 1
      case UInt8(ascii: "\\"): position += 2
      default: position += 1
      }
    }
    throw Failure()
  }

  private mutating func takeNumber(_ bytes: Span<UInt8>) throws(Failure) -> Range<Int> {
    _ = try peek(bytes)
    let start = position
    while position < bytes.count, Self.isOfNumber(bytes[position]) { position += 1 }
    if position == start { throw Failure() }
    return start..<position
  }

  private static func isOfNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
      UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
      true
    default: false
    }
  }

  /// The text of a key, or of a number.
  package func text(_ range: Range<Int>, _ bytes: Span<UInt8>) -> String {
    // Up to 15 bytes lie in the string itself: nothing is allocated.
    unsafe String(unsafeUninitializedCapacity: range.count) { target in
      for index in range { unsafe target[index - range.lowerBound] = bytes[index] }
      return range.count
    }
  }
}

extension Span<UInt8> {
  /// Whether `word` begins at `position`.
  package func has(_ word: StaticString, at position: Int) -> Bool {
    let length = word.utf8CodeUnitCount
    guard position >= 0, position <= count - length else { return false }
    for index in 0..<length where unsafe self[position + index] != word.utf8Start[index] {
      return false
    }
    return true
  }

  /// Whether the bytes of `range` are `word`.
  package func equals(_ word: StaticString, _ range: Range<Int>) -> Bool {
    range.count == word.utf8CodeUnitCount && has(word, at: range.lowerBound)
  }
}
