internal import ArgumentParser
internal import FoundationEssentials
internal import Sprocket

/// A command as the argument parser describes it: the declarations are the only list of arguments.
struct CommandHelp: Decodable {
  struct Argument: Decodable {
    struct Name: Decodable {
      let kind, name: String
    }

    struct Completion: Decodable {
      struct Nothing: Decodable {}
      /// The value is the name of a file or folder.
      let file, directory: Nothing?
    }

    let kind: String
    let shouldDisplay: Bool
    let isRepeating: Bool
    let names: [Name]?
    let valueName, defaultValue, abstract: String?
    /// The name of the group that the argument is in, a colon, and what the group is for.
    let sectionTitle: String?
    let completionKind: Completion?

    var takesValue: Bool { kind == "option" }
    var longNames: [String] { (names ?? []).filter { $0.kind == "long" }.map { "--\($0.name)" } }

    /// Values that the declaration names: words in lower case, with bars between.
    var values: [String] {
      let alternatives = (valueName ?? "").split(separator: " | ").map(String.init)
      guard alternatives.count > 1 else { return [] }
      return alternatives.filter { word in !word.contains { $0.isUppercase || ".[".contains($0) } }
    }
    var namesFile: Bool { completionKind?.file != nil || completionKind?.directory != nil }
  }

  private struct Tool: Decodable {
    let command: CommandHelp
  }

  let commandName: String
  let abstract, discussion: String?
  let subcommands: [CommandHelp]?
  let arguments: [Argument]?

  /// The whole program. Some tens of kilobytes of JSON.
  static var root: CommandHelp {
    get throws(RunError) {
      let text = SprocketCommand._dumpHelp()
      do {
        return try JSONDecoder().decode(Tool.self, from: Data(text.utf8)).command
      } catch {
        throw RunError(.failed, "the commands do not describe themselves; please report this")
      }
    }
  }

  subscript(_ name: String?) -> CommandHelp? { subcommands?.first { $0.commandName == name } }

  /// The options among arguments, each with its value where that is a word of its own.
  func options(in arguments: [String]) -> [(option: Argument, words: [String])] {
    var found: [(Argument, [String])] = []
    var rest = arguments[...]
    while let word = rest.popFirst(), word != "--" {
      let name = String(word.prefix { $0 != "=" })
      let option = self.arguments?.first { $0.longNames.contains(name) }
      guard let option else { continue }
      let value = option.takesValue && name == word ? rest.popFirst() : nil
      found.append((option, [word] + (value.map { [$0] } ?? [])))
    }
    return found
  }
}

extension CommandHelp {
  /// Options that belong together.
  struct Group {
    let name, text: String
    var arguments: [Argument]

    var heading: String { name.uppercased() }
    var rows: [(String, String)] { arguments.map { ($0.label, $0.text) } }
  }

  /// What the help tells of, besides itself.
  var shown: [Argument] {
    (arguments ?? []).filter {
      $0.shouldDisplay && !["--help", "--version"].contains($0.longNames.first)
    }
  }

  /// The name of the page that has all options of a command.
  static let everything = "all"

  /// What may stand behind the command in `help`, besides an option.
  var topics: [String] { (isGrouped ? groups.map(\.name) : []) + [Self.everything] }

  var isGrouped: Bool { shown.contains { $0.sectionTitle != nil } }

  /// Arguments by the group that their titles name, and those without a title.
  var groups: [Group] {
    var groups: [Group] = []
    for argument in shown {
      let untitled =
        argument.names == nil
        ? "Arguments: what stands without an option" : "Options: what is in no other group"
      let title = argument.sectionTitle ?? untitled
      let name = title.prefix { $0 != ":" }
      if let index = groups.firstIndex(where: { $0.name == name.lowercased() }) {
        groups[index].arguments.append(argument)
      } else {
        let text = String(title.dropFirst(name.count + 2))
        groups.append(Group(name: name.lowercased(), text: text, arguments: [argument]))
      }
    }
    return groups
  }
}

extension CommandHelp.Argument {
  /// How it is written.
  var label: String {
    let value = "<\(valueName ?? "")>"
    guard let name = longNames.first else { return value }
    return takesValue ? "\(name) \(value)" : name
  }

  var text: String { (abstract ?? "") + (defaultValue.map { " (default: \($0))" } ?? "") }

  /// The first sentence, or what stands before its semicolon.
  var beginning: String {
    let ends = ["; ", ". "].compactMap { text.firstRange(of: $0)?.lowerBound }
    return ends.min().map { text[..<$0] + "." } ?? text
  }
}
