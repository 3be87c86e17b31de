extension Tree {
  /// The tree as JSON, in lines.
  public var json: String { jsonText(indent: "\n") }

  /// Returns the tree as JSON in lines, to be put into another JSON value. Each line after the first begins
  /// with `indent`.
  public func json(within indent: String) -> String { jsonText(indent: "\n" + indent) }

  /// The tree as JSON, in one line.
  public var jsonLine: String { jsonText(indent: "") }

  /// `indent` is what begins a line: its end of the line before, and spaces.
  private func jsonText(indent: String) -> String {
    let inner = indent.isEmpty ? "" : indent + "  "
    switch content {
    case .scalar(let scalar):
      if scalar.isQuoted { return Self.quoted(scalar.text) }
      return isNull ? "null" : scalar.text
    case .list(let list):
      if list.isEmpty { return "[]" }
      let items = list.map { inner + $0.jsonText(indent: inner) }
      return "[" + items.joined(separator: ",") + "\(indent)]"
    case .map(let entries):
      if entries.isEmpty { return "{}" }
      let items = entries.map { entry in
        "\(inner)\(Self.quoted(entry.key)): \(entry.value.jsonText(indent: inner))"
      }
      return "{" + items.joined(separator: ",") + "\(indent)}"
    }
  }

  /// The tree as YAML. Texts are in quotes where they could be read as something else.
  public var yaml: String { yamlLines().joined(separator: "\n") }

  private func yamlLines() -> [String] {
    switch content {
    case .scalar(let scalar): return [Self.yamlText(scalar)]
    case .list(let list):
      if list.isEmpty { return ["[]"] }
      return list.flatMap { item in
        let lines = item.yamlLines()
        return ["- \(lines[0])"] + lines.dropFirst().map { "  \($0)" }
      }
    case .map(let entries):
      if entries.isEmpty { return ["{}"] }
      return entries.flatMap { entry in
        let key = Self.yamlText(Scalar(text: entry.key, isQuoted: true))
        let lines = entry.value.yamlLines()
        if entry.value.isBlock { return ["\(key):"] + lines.map { "  \($0)" } }
        return entry.value.isNull ? ["\(key):"] : ["\(key): \(lines[0])"]
      }
    }
  }

  /// Whether it takes lines of its own.
  private var isBlock: Bool {
    switch content {
    case .scalar: false
    case .list(let list): !list.isEmpty
    case .map(let entries): !entries.isEmpty
    }
  }

  private static func yamlText(_ scalar: Scalar) -> String {
    if !scalar.isQuoted { return scalar.text }
    let isPlain = scalar.text.wholeMatch(of: /[A-Za-z\/][A-Za-z0-9_.\/+-]*/) != nil
    // Words that a reader of YAML 1.1 takes for something else.
    let words = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"]
    return isPlain && !words.contains(scalar.text.lowercased()) ? scalar.text : quoted(scalar.text)
  }

  /// A text in double quotes, for JSON and YAML alike.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      // Control characters, and the ends of lines that YAML knows.
      case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}", "\u{FEFF}":
        let digits = String(scalar.value, radix: 16, uppercase: true)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
