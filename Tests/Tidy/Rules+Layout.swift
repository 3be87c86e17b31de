// Where things lie, and that nothing lies about.

extension Rules {
  static let everyStageIsListed: Rule = { tree in
    let list = "Sources/SprocketStages/SprocketStages.swift"
    return tree.plugins.flatMap { plugin -> [Finding] in
      let folder = "Plugins/\(plugin)"
      var found: [Finding] = []
      if tree["\(folder)/README.md"] == nil {
        found.append(Finding(folder, "the stage \(plugin) has no README.md"))
      }
      if !tree.files.contains(where: { $0.path.hasPrefix("\(folder)/Tests/") && $0.isSwift }) {
        found.append(Finding(folder, "the stage \(plugin) has no tests"))
      }
      if tree["Package.swift"]?.text.contains("\"\(plugin)\",") != true {
        found.append(Finding(folder, "Package.swift's `stages` does not list \(plugin)"))
      }
      if tree[list]?.imports.contains(where: { $0.module == plugin }) != true {
        found.append(Finding(folder, "\(list) does not import \(plugin)"))
      }
      return found
    }
  }

  /// The lists that a reader searches by eye.
  static let listsAreAlphabetical: Rule = { tree in
    let starts = [
      ("Package.swift", "let stages = ["),
      ("Sources/SprocketStages/SprocketStages.swift", "builtinStages"),
    ]
    return starts.flatMap { path, start -> [Finding] in
      guard let file = tree[path] else { return [Finding(path, "the file is missing")] }
      guard let from = file.lines.firstIndex(where: { $0.contains(start) }) else {
        return [Finding(file, "there is no list that starts with `\(start)`")]
      }
      let entries = file.lines[(from + 1)...].prefix { !$0.hasPrefix("]") }
      return zip(entries.indices, zip(entries, entries.dropFirst())).compactMap { line, pair in
        pair.0 < pair.1
          ? nil
          : Finding(file, line: line + 1, "`\(pair.1.trimmed)` comes after `\(pair.0.trimmed)`")
      }
    }
  }

  /// Found by their place, not by a name in another file.
  static let needNoMention: Set<String> = [
    ".ci/run", ".gitignore", ".swift-format", "CHANGELOG.md", "LICENSE", "Makefile", "README.md",
  ]

  static let everyFileIsMentioned: Rule = { tree in
    let paths = tree.files.map(\.path) + tree.others.keys.sorted()
    return paths.filter { path in
      let name = path.split(separator: "/").last ?? ""
      // A folder's README is found by who opens the folder, sources by the compiler or by Python,
      // judges by pytest, inputs by the fuzzer.
      if ["README.md", "module.modulemap"].contains(name) || needNoMention.contains(path)
        || path.hasSuffix(".swift") || path.hasSuffix(".c")
        || path.hasPrefix("Benchmarks/Results/") || path.hasPrefix("Tests/Judges/")
        || path.hasPrefix("Tests/Fuzz/Corpus/")
        || path.hasPrefix("Python/sprocket/") || path.hasPrefix("Python/tests/")
        // DocC finds what lies in a catalogue.
        || path.contains(".docc/")
        || path.hasPrefix("Tests/Lab/test_") || path == "Tests/Lab/conftest.py"
      {
        return false
      }
      return !tree.files.contains { $0.path != path && $0.text.contains(name) }
    }.map { Finding($0, "no other file mentions \($0); use it or remove it") }
  }

  static let filesAreSmall: Rule = { tree in
    let limit = 1 << 20
    let sizes = tree.files.map { ($0.path, $0.text.utf8.count) } + tree.others.sorted { $0 < $1 }
    return sizes.filter { $0.1 > limit }.map {
      Finding($0.0, "the file has \($0.1) bytes; \(limit) are allowed: generate it, or fetch it")
    }
  }

  static let changesAreTold: Rule = { tree in
    guard let file = tree["CHANGELOG.md"] else {
      return [Finding("CHANGELOG.md", "the file is missing")]
    }
    guard let first = file.lines.first(where: { $0.hasPrefix("## ") }) else {
      return [Finding(file, "there is no section; begin with `## Unreleased`")]
    }
    let version = first.dropFirst(3).prefix { $0.isNumber || $0 == "." }
    return first == "## Unreleased" || !version.isEmpty
      ? [] : [Finding(file, "the first section is neither `## Unreleased` nor a version's number")]
  }

  static let readmeNamesTheTwoCommands: Rule = { tree in
    guard let file = tree["README.md"] else { return [Finding("README.md", "the file is missing")] }
    return ["make run", "make test"].filter { !file.text.contains($0) }.map {
      Finding(file, "the README does not name `\($0)`")
    }
  }

  /// Links to files of the repository, in every page.
  static let linksLeadSomewhere: Rule = { tree in
    let known = Set(tree.files.map(\.path) + tree.others.keys)
    return tree.files.filter { $0.path.hasSuffix(".md") }.flatMap { file in
      file.lines.enumerated().flatMap { index, line in
        line.matches(of: /\]\(([^)#:\s]+)(#[^)]*)?\)/).compactMap { match -> Finding? in
          let target = resolve(String(match.output.1), from: file.path)
          let exists = known.contains(target) || known.contains { $0.hasPrefix(target + "/") }
          return exists ? nil : Finding(file, line: index, "links to \(target), which is not there")
        }
      }
    }
  }

  private static func resolve(_ link: String, from page: String) -> String {
    var parts = page.split(separator: "/").dropLast().map(String.init)
    for part in link.split(separator: "/") where part != "." {
      if part == "..", !parts.isEmpty { parts.removeLast() } else { parts.append(String(part)) }
    }
    return parts.joined(separator: "/")
  }
}

extension Tree {
  /// The folders below `Plugins`.
  var plugins: [String] {
    let folders = files.filter { $0.path.hasPrefix("Plugins/") }.compactMap { file in
      file.path.split(separator: "/").dropFirst().dropLast().first.map(String.init)
    }
    return Set(folders).sorted()
  }
}

extension Substring {
  fileprivate var trimmed: String {
    String(drop { $0.isWhitespace || $0 == "\"" }.prefix { $0 != "," && $0 != "\"" })
  }
}
