// A lexer that is just good enough to tell code from comments and strings.

/// Swift source without what only looks like code.
enum SwiftCode {
  /// `text` with the insides of comments and strings replaced by spaces, line by line.
  static func blanked(_ text: String) -> String {
    var scanner = Scanner(Array(text.utf8))
    scanner.code(until: nil)
    return String(decoding: scanner.output, as: UTF8.self)
  }

  /// Blocks between braces that are not the body of a type: functions, accessors, closures. Only
  /// the outermost of each, with the line of its opening and closing brace.
  static func functions(in code: [String]) -> [ClosedRange<Int>] {
    var found: [ClosedRange<Int>] = []
    /// For each open brace: its line, and whether it opens a type's body.
    var open: [(line: Int, isType: Bool)] = []
    var header = ""
    for (index, line) in code.enumerated() {
      for character in line {
        switch character {
        case "{":
          open.append((index, opensType(header)))
          header = ""
        case "}":
          header = ""
          guard let block = open.popLast(), !block.isType, open.allSatisfy(\.isType) else { break }
          found.append(block.line...index)
        default: header.append(character)
        }
      }
      header.append(" ")
    }
    return found
  }

  private static func opensType(_ header: String) -> Bool {
    let words = header.split { !($0.isLetter || $0.isNumber || $0 == "_") }
    let types: Set<Substring> = ["struct", "class", "enum", "extension", "protocol", "actor"]
    return words.contains { types.contains($0) } && !words.contains("func")
  }
}

private struct Scanner {
  let input: [UInt8]
  var output: [UInt8] = []
  var index = 0

  init(_ input: [UInt8]) { self.input = input }

  /// Copies code up to the parenthesis that closes an interpolation, or to the end.
  mutating func code(until end: UInt8?) {
    var depth = 0
    while index < input.count {
      if starts(with: "//") {
        while index < input.count, input[index] != .newline { blank() }
      } else if starts(with: "/*") {
        comment()
      } else if let hashes = opensString() {
        string(hashes: hashes)
      } else {
        if let end, input[index] == end, depth == 0 { return }
        if input[index] == UInt8(ascii: "(") { depth += 1 }
        if input[index] == UInt8(ascii: ")") { depth -= 1 }
        output.append(input[index])
        index += 1
      }
    }
  }

  private mutating func comment() {
    var depth = 0
    repeat {
      if starts(with: "/*") {
        depth += 1
        blank(2)
      } else if starts(with: "*/") {
        depth -= 1
        blank(2)
      } else {
        blank()
      }
    } while depth > 0 && index < input.count
  }

  /// The number of `#` before a quote that stands here.
  private func opensString() -> Int? {
    var quote = index
    while quote < input.count, input[quote] == UInt8(ascii: "#") { quote += 1 }
    guard quote < input.count, input[quote] == .quote else { return nil }
    return quote - index
  }

  private mutating func string(hashes: Int) {
    let fence = String(repeating: "#", count: hashes)
    blank(hashes)
    let quotes = starts(with: "\"\"\"") ? "\"\"\"" : "\""
    blank(quotes.utf8.count)
    while index < input.count, !starts(with: quotes + fence) {
      if starts(with: "\\" + fence + "(") {
        blank(2 + hashes)
        code(until: UInt8(ascii: ")"))
        blank()
      } else if starts(with: "\\" + fence) {
        blank(2 + hashes)
      } else {
        blank()
      }
    }
    blank(quotes.utf8.count + hashes)
  }

  private func starts(with text: String) -> Bool { input[index...].starts(with: text.utf8) }

  /// Passes over bytes, keeping the lines.
  private mutating func blank(_ count: Int = 1) {
    for _ in 0..<count where index < input.count {
      output.append(input[index] == .newline ? .newline : UInt8(ascii: " "))
      index += 1
    }
  }
}

extension UInt8 {
  fileprivate static let newline = UInt8(ascii: "\n")
  fileprivate static let quote = UInt8(ascii: "\"")
}
