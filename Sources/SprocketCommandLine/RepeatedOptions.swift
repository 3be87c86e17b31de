internal import Sprocket

/// Refuses an option that takes one value and is given twice: the parser would silently use the
/// last.
enum RepeatedOptions {
  /// An error sentence about the first option that `arguments` (without the program's name) repeat.
  static func sentence(_ arguments: [String]) throws(RunError) -> String? {
    // The parser's description, tens of kilobytes of JSON, is made only if a name occurs twice.
    var seen: Set<Substring> = []
    let names = arguments.filter { $0.hasPrefix("--") }.map { $0.prefix { $0 != "=" } }
    guard names.contains(where: { !seen.insert($0).inserted }) else { return nil }
    var values: [String: String] = [:]
    let given = try CommandHelp.root[arguments.first]?.options(in: arguments) ?? []
    for (option, words) in given where option.takesValue {
      let name = option.longNames[0]
      let value = words.count > 1 ? words[1] : String(words[0].dropFirst(name.count + 1))
      // A label before the value names the source that it is for.
      let isLabelled = option.valueName?.hasPrefix("[label=]") == true
      let label = isLabelled && value.contains("=") ? value.prefix { $0 != "=" } : ""
      guard let first = values.updateValue(value, forKey: "\(name) \(label)"),
        isLabelled || !option.isRepeating
      else { continue }
      return "\(name) is given twice, as \(first) and as \(value); give it once"
    }
    return nil
  }
}
