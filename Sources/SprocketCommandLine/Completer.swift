internal import Sprocket
internal import SprocketPipelines

/// Computes completions: commands, options, and the names, settings and values in the kinds's lists.
///
/// The scripts of `completions` call `PROGRAM ---complete WORD...` with the words before the cursor; the last
/// one may be empty.
struct Completer {
  static let option = "---complete"

  struct Answer {
    /// The part of the word that is kept as typed.
    var head = ""
    /// Texts that may follow the head, and their explanations.
    var choices: [(word: String, text: String)] = []
    /// Whether a file name may follow the head.
    var takesFile = false

    /// The head; then one line per choice, word and explanation; `*` stands for file names.
    var lines: [String] {
      [head] + choices.map { "\($0.word) \($0.text)" } + (takesFile ? ["*"] : [])
    }
  }

  let program: CommandHelp
  let kinds: Kinds

  /// `words` are those after the program's name.
  func answer(_ words: [String]) -> Answer {
    let word = words.last ?? ""
    var answer = answer(to: word, behind: Array(words.dropLast()))
    answer.choices.removeAll { choice in
      // Among file names nothing begins with `-`: it would be the one choice, which a shell inserts.
      !(answer.head + choice.word).hasPrefix(word)
        || choice.word == "-" && answer.takesFile && word == answer.head
    }
    return answer
  }

  private func answer(to word: String, behind before: [String]) -> Answer {
    let commands = (program.subcommands ?? []).map { ($0.commandName, $0.abstract ?? "") }
    guard let name = before.first(where: { !$0.hasPrefix("-") }) else {
      return Answer(choices: word.hasPrefix("-") ? options(program, behind: before) : commands)
    }
    guard let command = program[name] else { return Answer() }
    let known = (command.arguments ?? []).filter(\.takesValue)
    if let equals = word.firstIndex(of: "="),
      let option = known.first(where: { $0.longNames.contains(String(word[..<equals])) })
    {
      var answer = values(of: option, String(word[word.index(after: equals)...]), behind: before)
      answer.head = word[...equals] + answer.head
      return answer
    }
    if let last = before.last, let option = known.first(where: { $0.longNames.contains(last) }) {
      return values(of: option, word, behind: before)
    }
    if word.hasPrefix("-") { return Answer(choices: options(command, behind: before)) }
    switch name {
    case "help":
      guard let name = before.last(where: { $0 != "help" }) else {
        return Answer(choices: commands)
      }
      let topics = program[name]?.topics
      return Answer(choices: topics?.map { ($0, "") } ?? [])
    case "stages": return Answer(choices: (stages + sources + sinks).map { ($0.name, $0.text) })
    default:
      return positional(command, word, behind: before)
        ?? Answer(choices: options(command, behind: before))
    }
  }

  /// Options that are not given yet, or may be repeated.
  private func options(_ command: CommandHelp, behind before: [String]) -> [(String, String)] {
    (command.arguments ?? []).filter { argument in
      argument.shouldDisplay
        && (argument.isRepeating || argument.longNames.allSatisfy { !before.contains($0) })
    }.flatMap { argument in argument.longNames.map { ($0, argument.abstract ?? "") } }
  }

  private func values(
    of option: CommandHelp.Argument, _ typed: String, behind before: [String]
  ) -> Answer {
    switch option.longNames.first {
    case "--stage": return named(stages, typed)
    case "--source": return named(sources, typed)
    case "--sink": return named(sinks, typed)
    case "--microphone": return named(microphones, typed)
    case "--audio-stage": return named(audioStages, typed)
    case "--codec": return codec(typed)
    case "--record-when", "--fields": return fields(typed, behind: before)
    case "--control":
      let source = value(of: "--source", in: before).map { SourceLabel($0).source }
      let named = before.last { !$0.hasPrefix("-") && $0 != "devices" && !$0.contains("=") }
      let device = before.contains("devices") ? named.map { "camera:\($0)" } : nil
      return controls(of: source ?? device ?? Pipeline.usualSource.kind, typed)
    case "--source-set":
      let source =
        value(of: "--source", in: before).map { SourceLabel($0).source }
        ?? Pipeline.usualSource.kind
      let settings = kinds.source(named: source)?.settings ?? []
      let free = settings.filter { setting in !before.contains { $0.hasPrefix("\(setting.name)=") }
      }
      return setting(free, typed)
    case "--format": return Answer(choices: PixelFormat.choices.map { ($0, "") })
    default:
      return Answer(choices: option.values.map { ($0, "") }, takesFile: option.namesFile)
    }
  }

  private func value(of option: String, in words: [String]) -> String? {
    for (index, word) in words.enumerated() {
      if word == option, index + 1 < words.count { return words[index + 1] }
      if word.hasPrefix(option + "=") { return String(word.dropFirst(option.count + 1)) }
    }
    return nil
  }

  // MARK: Names and settings

  /// A stage, source or sink, and what may follow its name and a colon.
  struct Item {
    let name, text: String
    var argument: String?
    var isArgumentOptional = false
    var settings: [SettingDescription] = []
  }

  var stages: [Item] {
    kinds.stages.map { Item(name: $0.name, text: $0.text, settings: $0.settings) }
  }

  /// Sources take their settings from another option.
  var sources: [Item] {
    kinds.sources.map {
      Item(
        name: $0.name, text: $0.text, argument: $0.argument == nil ? nil : $0.shownArgument,
        isArgumentOptional: $0.isArgumentOptional)
    }
  }

  var sinks: [Item] { kinds.outputs.map(Item.init) }
  private var microphones: [Item] { kinds.microphones.map(Item.init) }

  private var audioStages: [Item] {
    kinds.audioStages.map { Item(name: $0.name, text: $0.text, settings: $0.settings) }
  }

  /// Completes `NAME`, `NAME:KEY=VALUE,...` or `NAME:ARGUMENT,KEY=VALUE,...`.
  func named(_ items: [Item], _ typed: String) -> Answer {
    guard let colon = typed.firstIndex(of: ":") else {
      let fitting = items.filter { $0.name.hasPrefix(typed) }
      return Answer(
        choices: fitting.flatMap { item in
          let needsMore = item.argument != nil && !item.isArgumentOptional
          let mayHaveMore = item.argument != nil || !item.settings.isEmpty
          let names =
            needsMore
            ? ["\(item.name):"]
            : [item.name] + (mayHaveMore && fitting.count == 1 ? ["\(item.name):"] : [])
          return names.map { ($0, item.text) }
        })
    }
    guard let item = items.first(where: { $0.name == typed[..<colon] }) else { return Answer() }
    let rest = typed[typed.index(after: colon)...]
    var head = String(typed[...colon])
    guard let comma = rest.lastIndex(of: ",") else {
      if let argument = item.argument { return self.argument(argument, head) }
      return setting(item.settings, String(rest), head: head)
    }
    head += rest[...comma]
    let given = rest[..<comma].split(separator: ",").map { $0.prefix { $0 != "=" } }
    return setting(
      item.settings.filter { !given.contains($0.name[...]) },
      String(rest[rest.index(after: comma)...]), head: head)
  }

  /// `PATH` and `FOLDER` stand for file names, `y4m|gray` for one of these words; nothing is known about
  /// others.
  private func argument(_ argument: String, _ head: String) -> Answer {
    let words = argument.split(separator: "|").map { (String($0), "") }
    return Answer(
      head: head, choices: words.count > 1 ? words : [],
      takesFile: ["PATH", "FOLDER"].contains(argument))
  }

  /// Completes `KEY=`, then its values.
  private func setting(
    _ settings: [SettingDescription], _ typed: String, head: String = ""
  ) -> Answer {
    guard let equals = typed.firstIndex(of: "=") else {
      return Answer(head: head, choices: settings.map { ("\($0.name)=", $0.text) })
    }
    let choices = settings.first { $0.name == typed[..<equals] }?.choices ?? []
    return Answer(head: head + typed[...equals], choices: choices.map { ($0, "") })
  }
}

extension Completer.Item {
  init<Made, Request>(_ kind: Kind<Made, Request>) {
    self.init(
      name: kind.name, text: kind.text, argument: kind.argument == nil ? nil : kind.shownArgument,
      isArgumentOptional: kind.isArgumentOptional, settings: kind.settings)
  }
}
