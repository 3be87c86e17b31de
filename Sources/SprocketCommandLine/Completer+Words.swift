internal import Sprocket
internal import SprocketPipelines

// What may follow a command without an option, and values of options that name parts of a run.
extension Completer {
  /// The argument that stands at the place of the typed word.
  func positional(
    _ command: CommandHelp, _ typed: String, behind before: [String]
  ) -> Answer? {
    let arguments = command.arguments?.filter { $0.kind == "positional" } ?? []
    var words = before.filter { $0 != command.commandName }[...]
    var given: [String] = []
    while let word = words.popFirst() {
      guard word.hasPrefix("-") else {
        given.append(word)
        continue
      }
      let option = command.arguments?.first { $0.longNames.contains(word) }
      if option?.takesValue == true { _ = words.popFirst() }
    }
    if command.commandName == "ask", !given.isEmpty { return asked(given, typed) }
    let argument = given.count < arguments.count ? arguments[given.count] : arguments.last
    guard let argument, given.count < arguments.count || argument.isRepeating else { return nil }
    if command.commandName == "devices" {
      return Answer(choices: CameraInfo.all().map { ($0.path, $0.card) })
    }
    guard argument.namesFile || !argument.values.isEmpty else { return nil }
    return Answer(choices: argument.values.map { ($0, "") }, takesFile: argument.namesFile)
  }

  /// What follows the socket of `ask`.
  private func asked(_ given: [String], _ typed: String) -> Answer {
    guard given.count > 1 else { return Answer(choices: RequestReader.names.map { ($0, "") }) }
    switch given[1] {
    case "set": return named(stages.filter { $0.settings.contains(where: \.isLive) }, typed)
    case "record", "next": return Answer(takesFile: true)
    case "reconfigure": return change(typed)
    case "photo": return moment(typed)
    default: return Answer()
    }
  }

  /// The moment of a photograph.
  private func moment(_ typed: String) -> Answer {
    guard let equals = typed.firstIndex(of: "=") else {
      return Answer(choices: AskCommand.momentKeys.map { ("\($0)=", "") })
    }
    guard typed[..<equals] == "moment" else { return Answer() }
    var answer = Answer(choices: FrameChoice.Rule.allCases.map { ($0.rawValue, "") })
    answer.head = String(typed[...equals])
    return answer
  }

  /// A part of a run that `reconfigure` changes.
  private func change(_ typed: String) -> Answer {
    guard let equals = typed.firstIndex(of: "=") else {
      return Answer(choices: AskCommand.changeKeys.map { ("\($0)=", "") })
    }
    let rest = String(typed[typed.index(after: equals)...])
    var answer =
      switch typed[..<equals] {
      case "stage": named(stages, rest)
      case "attach": named(sinks, rest)
      case "source": named(sources, rest)
      case "format": Answer(choices: PixelFormat.choices.map { ($0, "") })
      case "pipeline": Answer(takesFile: true)
      default: Answer()
      }
    answer.head = typed[...equals] + answer.head
    return answer
  }

  /// An encoder of movies, and its settings.
  func codec(_ typed: String) -> Answer {
    let settings = sinks.first { $0.name == MovieSink.kind.name }?.settings ?? []
    return named(
      MovieCodec.known.map { name in
        Item(
          name: name, text: "",
          settings: name == MovieCodec().name
            ? [] : settings.filter { MovieCodec.settingNames.contains($0.name) })
      }, typed)
  }

  /// Controls of the camera that `name` names, or of the scene.
  func controls(of source: String, _ typed: String) -> Answer {
    guard !typed.contains("=") else { return Answer() }
    if source == SceneSource.kind.name {
      return Answer(choices: SceneSource.controlNames.map { ("\($0)=", "") })
    }
    let name = source.split(separator: ":", maxSplits: 1).dropFirst().first.map(String.init) ?? ""
    let camera = try? CameraInfo.named(name)
    return Answer(choices: camera?.controls.map { ("\($0.description.name)=", $0.group) } ?? [])
  }

  /// Fields of stages' reports, of those stages that are given, if some are.
  func fields(_ typed: String, behind before: [String]) -> Answer {
    let given = before.map { $0.prefix { $0 != ":" } }
    let all = kinds.stages.filter { !$0.stages.flatMap(\.fields).isEmpty }
    let own = all.filter { stage in given.contains { $0 == stage.name } }
    // The last of several words: conditions and lists go on.
    let cut = typed.lastIndex { ", (".contains($0) }.map { typed.index(after: $0) }
    return Answer(
      head: cut.map { String(typed[..<$0]) } ?? "",
      choices: (own.isEmpty ? all : own).flatMap { stage in
        stage.stages.flatMap(\.fields).map { ("\(stage.name).\($0.name)", $0.unit) }
      })
  }
}
