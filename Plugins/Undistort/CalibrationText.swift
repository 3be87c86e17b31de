/// Finds keys, and the numbers behind them, in what OpenCV's `FileStorage` and ROS write: YAML, XML and JSON.
/// No parser of these languages: it looks for keys that it knows, and passes over all else.
struct CalibrationText {
  private let bytes: [UInt8]
  private let isXML: Bool

  /// Comments are blanked. Throws `noText` for other bytes than ASCII text has at its start.
  init(_ bytes: [UInt8]) throws(CalibrationError) {
    // A byte order mark stands before some YAML files.
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    guard let first = text.first(where: { !$0.isSpace }), !text.contains(0) else { throw .noText }
    isXML = first == UInt8(ascii: "<")
    self.bytes = isXML ? Self.withoutXMLComments(text) : Self.withoutComments(text)
  }

  private static func withoutXMLComments(_ text: [UInt8]) -> [UInt8] {
    var text = text
    var index = 0
    while let start = text.firstIndex(of: Array("<!--".utf8), from: index) {
      let end = text.firstIndex(of: Array("-->".utf8), from: start + 4).map { $0 + 3 } ?? text.count
      for place in start..<end { text[place] = .space }
      index = end
    }
    return text
  }

  /// Those of YAML; JSON has none, and OpenCV writes no number sign into names.
  private static func withoutComments(_ text: [UInt8]) -> [UInt8] {
    var text = text
    var isComment = false
    for place in text.indices {
      if text[place] == .newline { isComment = false }
      if text[place] == UInt8(ascii: "#"), place == 0 || text[place - 1].isSpace {
        isComment = true
      }
      if isComment { text[place] = .space }
    }
    return text
  }

  /// The word or number behind a key; `nil` where there is no such key.
  func word(_ key: String) -> String? {
    guard let section = section(key, in: 0..<bytes.count) else { return nil }
    let token = bytes[section].drop { $0.isSpace }.prefix {
      $0 != .newline && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "}")
        && $0 != UInt8(ascii: "<")
    }
    return text(token.filter { !$0.isSpace && !$0.isQuote }[...])
  }

  /// A number above 0 behind a key; `nil` where there is no such key.
  func length(_ key: String) throws(CalibrationError) -> Int? {
    guard let word = word(key) else { return nil }
    guard let value = Double(word), value == value.rounded(), (1...1e6).contains(value) else {
      throw .wrong("its \(key) is `\(word)`, which is no number of pixels; write it again")
    }
    return Int(value)
  }

  /// The numbers of a matrix, row by row; `nil` where there is no such key.
  func numbers(_ key: String) throws(CalibrationError) -> [Double]? {
    guard let matrix = section(key, in: 0..<bytes.count) else { return nil }
    let data = section("data", in: matrix) ?? matrix
    // What stands between brackets, else all: XML, and YAML's lists of one number in a line.
    var list = bytes[data]
    if let open = list.firstIndex(of: UInt8(ascii: "[")) {
      list = list[(open + 1)...]
      var depth = 1
      list = list.prefix { byte in
        if byte == UInt8(ascii: "[") { depth += 1 }
        if byte == UInt8(ascii: "]") { depth -= 1 }
        return depth > 0
      }
    }
    var numbers: [Double] = []
    let isBreak = { (byte: UInt8) in
      byte.isSpace || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "[")
        || byte == UInt8(ascii: "]")
    }
    for token in list.split(whereSeparator: isBreak) where token != [UInt8(ascii: "-")] {
      let word = text(token)
      guard let number = Double(word), number.isFinite, number.magnitude < 1e12 else {
        throw .wrong("\(key) has `\(word)` where a number should be; write it again")
      }
      numbers.append(number)
      guard numbers.count <= 64 else {
        throw .wrong("\(key) has more than 64 numbers; write it again")
      }
    }
    return numbers
  }

  /// What belongs to the first such key within `range`.
  private func section(_ key: String, in range: Range<Int>) -> Range<Int>? {
    let name = Array(key.utf8)
    var index = range.lowerBound
    while let found = bytes.firstIndex(of: name, from: index),
      found + name.count <= range.upperBound
    {
      index = found + name.count
      let value =
        isXML ? element(name, from: found, in: range) : value(from: found, name, in: range)
      if let value { return value }
    }
    return nil
  }

  /// Between `<key ...>` and `</key>`.
  private func element(_ name: [UInt8], from found: Int, in range: Range<Int>) -> Range<Int>? {
    let end = found + name.count
    guard found > range.lowerBound, bytes[found - 1] == UInt8(ascii: "<"), end < range.upperBound,
      bytes[end].isSpace || bytes[end] == UInt8(ascii: ">"),
      let open = bytes[end..<range.upperBound].firstIndex(of: UInt8(ascii: ">")),
      let close = bytes.firstIndex(of: Array("</".utf8) + name, from: open),
      close <= range.upperBound
    else { return nil }
    return open + 1..<close
  }

  /// Behind `key:` or `"key":`. In JSON up to the brace that closes the object; in YAML up to the next line
  /// that is not indented further.
  private func value(from found: Int, _ name: [UInt8], in range: Range<Int>) -> Range<Int>? {
    if found > range.lowerBound {
      let before = bytes[found - 1]
      guard
        before.isSpace || before.isQuote || [UInt8(ascii: "{"), UInt8(ascii: ",")].contains(before)
      else { return nil }
    }
    var index = found + name.count
    while index < range.upperBound, bytes[index].isSpace || bytes[index].isQuote { index += 1 }
    guard index < range.upperBound, bytes[index] == UInt8(ascii: ":") else { return nil }
    index += 1
    let rest = bytes[index..<range.upperBound]
    if let first = rest.first(where: { !$0.isSpace }), first == UInt8(ascii: "{"),
      let open = rest.firstIndex(of: first)
    {
      let close = rest[open...].firstIndex(of: UInt8(ascii: "}")) ?? range.upperBound
      return open + 1..<close
    }
    return index..<endOfBlock(from: index, indentation: indentation(of: found), range.upperBound)
  }

  private func indentation(of place: Int) -> Int {
    let start = bytes[..<place].lastIndex(of: .newline).map { $0 + 1 } ?? 0
    return bytes[start..<place].prefix { $0.isSpace }.count
  }

  /// Where the first line begins that is indented no further, and is not one of a list.
  private func endOfBlock(from start: Int, indentation: Int, _ end: Int) -> Int {
    var depth = 0
    var index = start
    while index < end {
      switch bytes[index] {
      case UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "]"): depth -= 1
      case .newline where depth <= 0:
        let line = bytes[(index + 1)..<end]
        let spaces = line.prefix { $0 == .space }.count
        if let first = line.dropFirst(spaces).first, first != .newline, spaces <= indentation,
          first != UInt8(ascii: "-")
        {
          return index
        }
      default: break
      }
      index += 1
    }
    return end
  }

  /// At most 40 characters, for errors.
  private func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.prefix(40), as: UTF8.self)
  }
}

extension UInt8 {
  fileprivate static let space = UInt8(ascii: " ")
  fileprivate static let newline = UInt8(ascii: "\n")
  fileprivate var isSpace: Bool { self == 32 || (9...13).contains(self) }
  fileprivate var isQuote: Bool { self == UInt8(ascii: "\"") || self == UInt8(ascii: "'") }
}

extension [UInt8] {
  /// The first place of `pattern`, which is not empty.
  fileprivate func firstIndex(of pattern: [UInt8], from start: Int) -> Int? {
    var index = start
    while index + pattern.count <= count {
      guard let first = self[index..<(count - pattern.count + 1)].firstIndex(of: pattern[0]) else {
        return nil
      }
      if self[first..<first + pattern.count].elementsEqual(pattern) { return first }
      index = first + 1
    }
    return nil
  }
}
