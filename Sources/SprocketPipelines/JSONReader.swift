internal import Sprocket

extension Tree {
  /// Reads JSON (RFC 8259) of UTF-8. Throws for all else, for a key that is given twice, and beyond the
  /// bounds of files.
  public init(
    json bytes: [UInt8], within bounds: TreeBounds = .description
  ) throws(TreeError) {
    try bounds.check(bytes)
    var reader = JSONReader(bytes, bounds)
    self = try reader.document()
  }
}

/// Makes a tree of a text.
private struct JSONReader {
  private let bytes: [UInt8]
  private var place = 0
  private var line = 1
  /// Where the line begins.
  private var start = 0
  private var count: TreeCount

  init(_ bytes: [UInt8], _ bounds: TreeBounds) {
    (self.bytes, count) = (bytes, TreeCount(bounds))
  }

  private var mark: Mark { Mark(line: line, column: place - start + 1) }
  private var byte: UInt8? { place < bytes.count ? bytes[place] : nil }

  private func failure(_ problem: String) -> TreeError { TreeError(mark: mark, problem: problem) }

  mutating func document() throws(TreeError) -> Tree {
    skipSpace()
    let tree = try value()
    skipSpace()
    guard place == bytes.count else { throw failure("something follows the value; leave it out") }
    return tree
  }

  private mutating func skipSpace() {
    while let byte, [0x20, 0x09, 0x0A, 0x0D].contains(byte) {
      place += 1
      if byte == 0x0A { (line, start) = (line + 1, place) }
    }
  }

  private mutating func take(_ character: Character) -> Bool {
    guard byte == character.asciiValue else { return false }
    place += 1
    return true
  }

  private mutating func value() throws(TreeError) -> Tree {
    let mark = mark
    switch byte {
    case UInt8(ascii: "{"): return Tree(.map(try map()), mark: mark)
    case UInt8(ascii: "["): return Tree(.list(try list()), mark: mark)
    case UInt8(ascii: "\""):
      try count.add(mark)
      return Tree(.scalar(Tree.Scalar(text: try string(), isQuoted: true)), mark: mark)
    default:
      try count.add(mark)
      return Tree(.scalar(Tree.Scalar(text: try word(), isQuoted: false)), mark: mark)
    }
  }

  private mutating func list() throws(TreeError) -> [Tree] {
    try count.enter(mark)
    defer { count.leave() }
    place += 1
    skipSpace()
    if take("]") { return [] }
    var list: [Tree] = []
    while true {
      skipSpace()
      list.append(try value())
      skipSpace()
      if take("]") { return list }
      guard take(",") else { throw failure("a list goes on with a comma, or ends with ]") }
    }
  }

  private mutating func map() throws(TreeError) -> [Tree.Entry] {
    try count.enter(mark)
    defer { count.leave() }
    place += 1
    skipSpace()
    if take("}") { return [] }
    var entries: [Tree.Entry] = []
    while true {
      skipSpace()
      let mark = mark
      guard byte == UInt8(ascii: "\"") else { throw failure("a key is a text in double quotes") }
      let key = try string()
      skipSpace()
      guard take(":") else { throw failure("a colon and a value follow a key") }
      skipSpace()
      try entries.add(Tree.Entry(key, try value(), mark: mark))
      skipSpace()
      if take("}") { return entries }
      guard take(",") else { throw failure("an object goes on with a comma, or ends with }") }
    }
  }

  /// A number, `true`, `false` or `null`.
  private mutating func word() throws(TreeError) -> String {
    let first = place
    while let byte, isOfWord(byte) { place += 1 }
    let text = String(decoding: bytes[first..<place], as: UTF8.self)
    if ["true", "false", "null"].contains(text) || SettingForm.number(isWhole: false).isPlain(text)
    {
      return text
    }
    place = first
    throw failure("a value is a text in double quotes, a number, true, false, null, {} or []")
  }

  private func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
      UInt8(ascii: "."):
      true
    default: false
    }
  }

  private mutating func string() throws(TreeError) -> String {
    place += 1
    var text: [UInt8] = []
    while let byte {
      switch byte {
      case UInt8(ascii: "\""):
        place += 1
        guard let string = String(validating: text, as: UTF8.self) else {
          throw failure("a text is not UTF-8")
        }
        return string
      case UInt8(ascii: "\\"):
        place += 1
        try escape(&text)
      case 0..<0x20:
        throw failure("a text goes on over a line, or has a control character; escape it")
      default:
        text.append(byte)
        place += 1
      }
    }
    throw failure("a text has no end: its second double quote is missing")
  }

  private mutating func escape(_ text: inout [UInt8]) throws(TreeError) {
    let known: [UInt8: UInt8] = [
      UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "\\"): UInt8(ascii: "\\"),
      UInt8(ascii: "/"): UInt8(ascii: "/"), UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0C,
      UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
    ]
    if let byte, let meant = known[byte] {
      text.append(meant)
      place += 1
      return
    }
    guard take("u") else {
      throw failure("a text has an unknown escape; a backslash is written \\\\")
    }
    var unit = try unit()
    // Characters above U+FFFF are two units (RFC 8259, section 7).
    if 0xD800..<0xDC00 ~= unit, take("\\"), take("u") {
      let low = try self.unit()
      guard 0xDC00..<0xE000 ~= low else { throw failure("a text has half of a character") }
      unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(unit) else { throw failure("a text has half of a character") }
    text += Array(String(Character(scalar)).utf8)
  }

  private mutating func unit() throws(TreeError) -> UInt32 {
    let end = min(place + 4, bytes.count)
    let digits = String(decoding: bytes[place..<end], as: UTF8.self)
    guard digits.count == 4, digits.allSatisfy(\.isHexDigit), let unit = UInt32(digits, radix: 16)
    else { throw failure("four hexadecimal digits follow \\u") }
    place = end
    return unit
  }
}
