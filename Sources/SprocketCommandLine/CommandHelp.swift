internal import ArgumentParser
internal import FoundationEssentials

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
    let abstract: String?
    /// The allowed words, if only certain words are allowed.
    let allValues: [String]?
    let completionKind: Completion?

    var takesValue: Bool { kind == "option" }
    var longNames: [String] { (names ?? []).filter { $0.kind == "long" }.map { "--\($0.name)" } }
    var namesFile: Bool { completionKind?.file != nil || completionKind?.directory != nil }
  }

  private struct Tool: Decodable {
    let command: CommandHelp
  }

  let commandName: String
  let abstract: String?
  let subcommands: [CommandHelp]?
  let arguments: [Argument]?

  /// The whole program; `nil` if the parser's description cannot be read. Some tens of kilobytes of JSON.
  static var root: CommandHelp? {
    let text = SprocketCommand._dumpHelp()
    return try? JSONDecoder().decode(Tool.self, from: Data(text.utf8)).command
  }
}
