// What a stage reports is for programs to read.

extension Rules {
  /// Each report is a public type, and each of its stored properties is public and has a comment of its own,
  /// which says its unit and range. Reports of tests and examples are their own.
  static let reportsAreDocumented: Rule = { tree in
    tree.files.filter { file in
      let isOurs = file.path.hasPrefix("Plugins/") || file.path.hasPrefix("Sources/Sprocket")
      return isOurs && file.isSwift && !file.isTest && !file.path.contains(".docc/")
    }.flatMap { file in
      file.code.indices.filter { opensReport(file.code[$0]) }.flatMap { findings(file, $0) }
    }
  }

  private static func opensReport(_ line: String) -> Bool {
    line.contains("struct ") && line.contains(": FrameReport") && line.hasSuffix("{")
  }

  private static func findings(_ file: File, _ start: Int) -> [Finding] {
    var found: [Finding] = []
    if !file.code[start].contains("public struct") {
      found.append(Finding(file, line: start, "this report is not public; say `public struct`"))
    }
    var depth = 0
    for line in start..<file.code.count {
      let code = file.code[line]
      if depth == 1, isStored(code) {
        let words = code.split(separator: " ")
        if words.first != "public", words.first != "private" {
          found.append(Finding(file, line: line, "this property of a report is not public"))
        }
        if !file.lines[line - 1].contains("///") {
          found.append(
            Finding(
              file, line: line,
              "this property of a report has no comment of its own; say its unit and range"))
        }
      }
      depth += code.count { $0 == "{" } - code.count { $0 == "}" }
      if depth == 0 { break }
    }
    return found
  }

  /// Stored: neither static nor computed.
  private static func isStored(_ code: String) -> Bool {
    let words = code.split(separator: " ")
    return words.contains("var") && !words.contains("static") && !code.contains("{")
  }
}
