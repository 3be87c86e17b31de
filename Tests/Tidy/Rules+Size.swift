// How long files, functions and lines may be.

/// The rules. Each has a claim in `TidyTests` and an example in `RuleTests`.
enum Rules {
  static let filesAreShort: Rule = { tree in
    tree.files.filter(\.isSwift).compactMap { file in
      let limit = file.isTest ? 500 : 300
      // The last line ends with a newline, so the text splits into one more than it has.
      let count = file.lines.count - (file.lines.last == "" ? 1 : 0)
      return count > limit
        ? Finding(file, line: limit, "the file has \(count) lines; split it, \(limit) are allowed")
        : nil
    }
  }

  static let functionsAreShort: Rule = { tree in
    let limit = 60
    return tree.files.filter(\.isSwift).flatMap { file in
      SwiftCode.functions(in: file.code).filter { $0.count > limit }.map { lines in
        Finding(
          file, line: lines.lowerBound,
          "this block has \(lines.count) lines; divide it, \(limit) are allowed")
      }
    }
  }

  /// Swift's format keeps code within 100 columns; this is for comments and for other languages.
  static let linesAreShort: Rule = { tree in
    let limit = 110
    let endings = [".swift", ".h", ".cpp", ".c", ".py", ".sh", "Makefile", ".modulemap"]
    return tree.files.filter { file in endings.contains { file.path.hasSuffix($0) } }
      .flatMap { file in
        file.lines.indices.filter { file.lines[$0].count > limit }.map {
          Finding(
            file, line: $0,
            "the line has \(file.lines[$0].count) characters; \(limit) are allowed")
        }
      }
  }

  static let linesEndCleanly: Rule = { tree in
    tree.files.flatMap { file in
      var found = file.lines.indices.filter { file.lines[$0].last?.isWhitespace == true }.map {
        Finding(file, line: $0, "the line ends with white space; remove it")
      }
      if !file.text.isEmpty, file.text.last != "\n" {
        found.append(
          Finding(file, line: file.lines.count - 1, "the file does not end its last line"))
      }
      return found
    }
  }
}

extension File {
  var isTest: Bool { path.hasPrefix("Tests/") || path.contains("/Tests/") }
}
