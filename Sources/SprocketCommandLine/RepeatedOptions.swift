internal import Sprocket

/// Refuses an option that takes one value and is given twice: the parser would silently use the
/// last.
enum RepeatedOptions {
  /// An error sentence about the first option that `arguments` (without the program's name) repeat.
  static func sentence(_ arguments: [String]) -> String? {
    // The parser's description, tens of kilobytes of JSON, is made only if a name occurs twice.
    var seen: Set<Substring> = []
    let names = arguments.filter { $0.hasPrefix("--") }.map { $0.prefix { $0 != "=" } }
    guard names.contains(where: { !seen.insert($0).inserted }) else { return nil }
    return sentence(arguments, options: options(of: arguments.first ?? ""))
  }

  /// Options that may be given once for each source.
  private static let labelled = ["--format", "--size", "--rate"]

  /// Walks over `arguments`; `options` are those that take a value, and whether they may be given again.
  static func sentence(_ arguments: [String], options: [String: Bool]) -> String? {
    var values: [String: String] = [:]
    var rest = arguments[...]
    while let argument = rest.popFirst(), argument != "--" {
      let name = String(argument.prefix { $0 != "=" })
      guard let mayRepeat = options[name] else { continue }
      let value =
        name.count < argument.count
        ? String(argument.dropFirst(name.count + 1)) : rest.popFirst() ?? ""
      // A label before the value names the source that it is for.
      let isLabelled = arguments.first == "run" && labelled.contains(name)
      let label = isLabelled && value.contains("=") ? value.prefix { $0 != "=" } : ""
      guard let first = values.updateValue(value, forKey: "\(name) \(label)"),
        isLabelled || !mayRepeat
      else { continue }
      return "\(name) is given twice, as \(first) and as \(value); give it once"
    }
    return nil
  }

  private static func options(of command: String) -> [String: Bool] {
    let found = CommandHelp.root?.subcommands?.first { $0.commandName == command }
    var options: [String: Bool] = [:]
    for argument in found?.arguments ?? [] where argument.takesValue {
      for name in argument.longNames { options[name] = argument.isRepeating }
    }
    return options
  }
}
