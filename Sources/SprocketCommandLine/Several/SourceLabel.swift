internal import Sprocket
internal import SprocketPipelines

/// A source of the command line: `[LABEL=]KIND[:ARGUMENT]`.
struct SourceLabel {
  /// Stands for the source in names of files and in messages.
  var label: String
  /// `KIND[:ARGUMENT]`.
  let source: String
  /// Whether the label stands before the source.
  let isGiven: Bool

  init(_ text: String) {
    let given = Self.label(of: text)
    isGiven = given != nil
    source = given.map { String(text.dropFirst($0.count + 1)) } ?? text
    label = given ?? String(source.prefix { $0 != ":" })
  }

  /// What stands before `=`, where that can be a label.
  static func label(of text: String) -> String? {
    guard let equals = text.firstIndex(of: "="), equals > text.startIndex,
      Run.Source.isLabel(text[..<equals])
    else { return nil }
    return String(text[..<equals])
  }

  /// All sources, each with a label of its own: the kind, with a number from the second of a kind on, where
  /// none is given.
  static func all(_ texts: [String]) throws(RunError) -> [SourceLabel] {
    var all = texts.map { SourceLabel($0) }
    let given = all.filter(\.isGiven).map(\.label)
    for (index, label) in given.enumerated() where given[..<index].contains(label) {
      throw RunError(.usage, "two sources are called \(label); give each a label of its own")
    }
    for index in all.indices where !all[index].isGiven {
      let kind = all[index].label
      let others = all[..<index].map(\.label) + given
      var number = 1
      while others.contains(number == 1 ? kind : "\(kind)\(number)") { number += 1 }
      if number > 1 { all[index].label = "\(kind)\(number)" }
    }
    return all
  }
}

/// A value for all sources of a run, or for the one with a label: `VALUE` or `LABEL=VALUE`.
struct Labelled<Value: Sendable>: Sendable {
  let label: String?
  let value: Value

  init(label: String? = nil, _ value: Value) { (self.label, self.value) = (label, value) }

  /// Parses what follows the label.
  static func parser(
    _ parse: @escaping @Sendable (String) throws -> Value
  ) -> @Sendable (String) throws -> Labelled<Value> {
    { text in
      guard let equals = text.firstIndex(of: "=") else { return Labelled(try parse(text)) }
      return Labelled(
        label: String(text[..<equals]), try parse(String(text[text.index(after: equals)...])))
    }
  }
}

/// The labels of a run. Selects the values of an option that apply to a source.
struct SourceLabels {
  let labels: [String]

  /// The value of that source: its own, else that of all.
  func value<Value>(
    _ values: [Labelled<Value>], of label: String, option: String
  ) throws(RunError) -> Value? {
    for (index, entry) in values.enumerated() {
      if let given = entry.label { try check(given, option) }
      guard values[..<index].contains(where: { $0.label == entry.label }) else { continue }
      throw RunError(.usage, "\(option) is given twice; give it once for each source")
    }
    return (values.first { $0.label == label } ?? values.first { $0.label == nil })?.value
  }

  /// Of `KEY=VALUE` and `LABEL.KEY=VALUE`, those of that source, without the label. A source's own come last,
  /// and replace those of all.
  func pairs(_ pairs: [String], of label: String, option: String) throws(RunError) -> [String] {
    var (all, own): ([String], [String]) = ([], [])
    for pair in pairs {
      let key = pair.prefix { $0 != "=" }
      guard let point = key.firstIndex(of: ".") else {
        all.append(pair)
        continue
      }
      try check(String(key[..<point]), "\(option) \(pair)")
      if key[..<point] == label { own.append(String(pair[pair.index(after: point)...])) }
    }
    let keys = own.map { $0.prefix { $0 != "=" } }
    return all.filter { !keys.contains($0.prefix { $0 != "=" }) } + own
  }

  func check(_ given: [String], _ option: String) throws(RunError) {
    for label in given { try check(label, option) }
  }

  func check(_ label: String, _ option: String) throws(RunError) {
    guard !labels.contains(label) else { return }
    guard !label.isEmpty else {
      throw RunError(
        .usage, "\(option): the label before the value is empty; write it, or leave it out")
    }
    throw RunError(
      .usage,
      "\(option): there is no source called \(label); " + knownNames(labels, near: label)
        + (labels.count == 1 ? ", named so: --source \(label)=KIND" : ""))
  }
}
