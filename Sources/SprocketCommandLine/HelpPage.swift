internal import ArgumentParser
internal import Sprocket

/// A page of help, made of the declarations of commands and options.
///
/// A command whose options are in groups has a first page, which shows some of them and lists the groups,
/// and a page for each group.
struct HelpPage {
  /// Columns of a page.
  private static let width = 80
  /// Last column at which explanations begin. Labels that do not fit stand in a line of their own.
  private static let lastIndent = 36
  private(set) var lines: [String] = []

  /// The page that `help` and these words ask for: a command, and one of its groups or options.
  init(_ words: [String]) throws(RunError) {
    let root = try CommandHelp.root
    guard let name = words.first else {
      begin(root)
      let commands = (root.subcommands ?? []).filter { $0.commandName != "help" }
      add("COMMANDS:", commands.map { ($0.commandName, $0.abstract ?? "") })
      lines += ["", "`\(programName) help COMMAND` tells of one. --version prints the version."]
      return
    }
    guard let command = root[name] else { throw unknownCommand(name) }
    if words.count > 2 {
      throw RunError(.usage, "`help` takes a command and one word of it; leave \(words[2]) out")
    }
    let topic = words.dropFirst().first
    if topic == nil, command.isGrouped {
      addFirstPage(of: command)
    } else if topic == nil || topic == CommandHelp.everything {
      begin(command)
      for group in command.groups { add("\(group.heading):", group.rows) }
    } else if let topic {
      try add(topic, of: command)
    }
  }

  /// A command's sentence, its usage and what it says besides.
  private mutating func begin(_ command: CommandHelp) {
    let types = SprocketCommand.configuration.subcommands
    let type = types.first { $0._commandName == command.commandName } ?? SprocketCommand.self
    let usage = SprocketCommand.usageString(for: type)
    lines = Self.wrapped(command.abstract ?? "", Self.width) + [""]
    lines += Self.wrapped("USAGE: \(usage)", Self.width)
    guard let text = command.discussion else { return }
    lines.append("")
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      lines +=
        line.isEmpty || line.hasPrefix(" ")
        ? [String(line)] : Self.wrapped(String(line), Self.width)
    }
  }

  private mutating func addFirstPage(of command: CommandHelp) {
    begin(command)
    let first = RunCommand.firstOptions.compactMap { name in
      command.shown.first { $0.longNames == ["--\(name)"] }
    }
    add("OPTIONS:", first.map { ($0.label, $0.beginning) })
    let groups = command.groups.map { ($0.name, $0.text) }
    add("GROUPS OF OPTIONS:", groups + [(CommandHelp.everything, "every option")])
    let help = "\(programName) help \(command.commandName)"
    let pages = command.groups.filter { $0.arguments.contains { !$0.longNames.isEmpty } }
    let group = pages.first { $0.name == "recording" } ?? pages.first
    let names = group?.arguments.flatMap(\.longNames) ?? []
    let option = names.first { $0 == "--codec" } ?? names.first
    let examples = [group?.name, option].compactMap(\.self).map { "`\(help) \($0)`" }
    lines += ["", "Read on with \(examples.joined(separator: ", or "))."]
  }

  /// A group or an option.
  private mutating func add(_ topic: String, of command: CommandHelp) throws(RunError) {
    if command.isGrouped, let group = command.groups.first(where: { $0.name == topic }) {
      lines = Self.wrapped("\(group.heading): \(group.text)", Self.width)
      return add("", group.rows)
    }
    let option = "--\(topic.drop { $0 == "-" })"
    if let argument = command.shown.first(where: { $0.longNames.contains(option) }) {
      lines = Self.columns([(argument.label, argument.text)])
      return
    }
    // One list in the sentence: groups, unless an option is nearer or there are none.
    let options = command.shown.flatMap(\.longNames)
    let isGroup = nearestName(to: topic, among: command.topics) != nil
    let isOption = !isGroup && nearestName(to: option, among: options) != nil
    let known =
      isOption || !command.isGrouped
      ? knownNames(options, near: option) : knownNames(command.topics, near: topic)
    let kind = command.isGrouped ? "group or option" : "option"
    throw RunError(.usage, "`\(command.commandName)` has no \(kind) `\(topic)`; \(known)")
  }

  private mutating func add(_ heading: String, _ rows: [(label: String, text: String)]) {
    lines += ["", heading].suffix(heading.isEmpty ? 1 : 2) + Self.columns(rows)
  }

  // MARK: Columns

  /// Labels, and what they mean beside them.
  private static func columns(_ rows: [(label: String, text: String)]) -> [String] {
    let fitting = rows.map { $0.label.count + 4 }.filter { $0 <= lastIndent }
    let indent = fitting.max() ?? 8
    return rows.flatMap { row in
      let texts = wrapped(row.text, width - indent)
      let label = "  \(row.label)"
      let isBeside = label.count + 2 <= indent
      let lines = texts.indices.map { pad(isBeside && $0 == 0 ? label : "", indent) + texts[$0] }
      return (isBeside ? [] : [label]) + lines
    }
  }

  /// The words of a text, in lines of that length.
  private static func wrapped(_ text: String, _ width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(whereSeparator: \.isWhitespace) {
      if let last = lines.last, last.count + word.count < width {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
