internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

/// `sprocket ask`: sends one request to a run that has a control socket, and prints the answer.
struct AskCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ask", abstract: "Asks a run with --control-socket, and prints its answer.",
    discussion: """
      Requests: record [PATH], pause [N], resume [N], stop [N], next [PATH], photo [FRAMES], cancel ID, \
      control NAME=VALUE..., set STAGE:KEY=VALUE,..., reconfigure KEY=VALUE..., status, recordings, \
      events, quit. N is a recording's number; without it, the latest is meant. ID is from the answer to a \
      request that waits for its frame. Events are printed until the run ends.
      Keys of photo, instead of FRAMES: ago=300ms, and moment=nearest, after or before, for a run whose \
      stills have a pre-roll.
      Keys of reconfigure: source, source-set (KEY=VALUE), format, size, rate; stage, once for each of \
      the whole chain, empty for none; attach and detach, once for each sink; or pipeline, a file that \
      describes all that the run is to be.
      """)

  @Argument(help: "The run's socket.", completion: .file())
  var socket: String

  @Argument(help: "What to ask.")
  var request: String

  @Argument(help: "What it needs, as the requests above say.")
  var arguments: [String] = []

  /// Keys of `reconfigure`.
  static let changeKeys = [
    "source", "source-set", "format", "size", "rate", "stage", "attach", "detach", "pipeline",
  ]

  private var argument: String? { arguments.first }

  func execute(_ kinds: Kinds, _ signals: inout StopSignals) throws {
    let line = try line(kinds)
    let connection = try RunConnection(path: socket)
    try connection.connect(&signals)
    try connection.send(line, &signals)
    var isAnswer = true
    let patience = request == "reconfigure" ? Self.changePatience : RunConnection.patience
    while let text = try connection.line(&signals, limit: isAnswer ? patience : nil) {
      Console.output.say(json: text)
      if isAnswer, !text.contains("\"ok\":true") { throw ExitCode(1) }
      isAnswer = false
      // Standard output may have been closed while events come.
      if request != "events" || Console.output.failure != 0 { return }
    }
    if isAnswer { throw RunError(.failed, "the run closed \(socket) without an answer; ask again") }
  }

  /// Longest time until `reconfigure` is answered, 2 min: frames under way pass the chain, and a device may
  /// take long to open. Larger: a run that hangs is reported later.
  private static let changePatience = Duration.seconds(120)

  /// A request in JSON (`RequestReader`).
  private func line(_ kinds: Kinds) throws(RunError) -> String {
    var line = [Tree.Entry("request", Tree(request, isQuoted: true))]
    // The run may know requests that this program does not.
    if !RequestReader.names.contains(request),
      let near = nearestName(to: request, among: RequestReader.names)
    {
      throw RunError(.usage, "there is no request `\(request)`; did you mean `\(near)`?")
    }
    if request == "reconfigure" {
      line += try change(kinds)
    } else if request == "photo", argument?.contains("=") ?? false {
      line += try moment()
    } else if request == "control" {
      guard !arguments.isEmpty else { throw missing("NAME=VALUE") }
      line.append(Tree.Entry("controls", Tree(try keyValues(arguments, option: "control"))))
    } else {
      if request == "set" {
        guard let argument else { throw missing("STAGE:KEY=VALUE,...") }
        if arguments.count > 1 || !argument.contains(":") {
          let pairs = arguments.dropFirst().joined(separator: ",")
          let colon = argument.contains(":") ? "," : ":"
          throw RunError(
            .usage,
            "write \(arguments.joined(separator: " ")) as "
              + (pairs.isEmpty ? "STAGE:KEY=VALUE,..." : "\(argument)\(colon)\(pairs)"))
        }
      }
      guard arguments.count <= 1 else {
        throw RunError(
          .usage, "`\(request)` takes one argument at most; leave \(arguments[1]) out")
      }
      if let argument { line += try values(argument) }
    }
    let text = Tree(.map(line)).jsonLine + "\n"
    guard text.utf8.count < 1 << 16 else {
      throw RunError(.usage, "the request is longer than 64 kB, which a run takes; describe less")
    }
    return text
  }

  private func missing(_ arguments: String) -> RunError {
    RunError(
      .usage,
      "`\(request)` needs to know what: `\(programName) ask \(socket) \(request) \(arguments)`")
  }

  /// Keys of `photo`.
  static let momentKeys = ["ago", "moment"]

  /// Reads which moment a photograph is to show. Returns entries of the request.
  private func moment() throws(RunError) -> [Tree.Entry] {
    let given = try keyValues(arguments, option: "photo")
    if let unknown = given.keys.sorted().first(where: { !Self.momentKeys.contains($0) }) {
      throw RunError(
        .usage,
        "`photo` has no `\(unknown)`; " + knownNames(Self.momentKeys, near: unknown, "it has"))
    }
    var entries: [Tree.Entry] = []
    if let text = given["ago"] {
      guard let ago = Duration(settingText: text) else {
        throw RunError(.usage, "ago=\(text) is no time; write it as 300ms or 1s")
      }
      let seconds = (Double(ago.nanosecondCount) / 1e9).settingText
      entries.append(Tree.Entry("ago_s", Tree(seconds, isQuoted: false)))
    }
    if let rule = given["moment"] {
      entries.append(Tree.Entry("moment", Tree(rule, isQuoted: true)))
    }
    return entries
  }

  /// What is to change, as `KEY=VALUE` each. Relative paths are those of this process.
  private func change(_ kinds: Kinds) throws(RunError) -> [Tree.Entry] {
    var values: [String: Tree] = [:]
    func add(_ value: String?, to list: String) {
      guard case .list(let items) = (values[list] ?? Tree(.list([]))).content else { return }
      values[list] = Tree(.list(items + (value.map { [Tree($0, isQuoted: true)] } ?? [])))
    }
    var settings: [String: String] = [:]
    for text in arguments {
      guard let equals = text.firstIndex(of: "=") else {
        throw RunError(.usage, "write \(text) as KEY=VALUE")
      }
      let value = String(text[text.index(after: equals)...])
      if ["source", "format", "size", "rate", "pipeline"].contains(String(text[..<equals])),
        values[String(text[..<equals])] != nil
      {
        throw RunError(.usage, "\(text[..<equals]) is given twice; give it once")
      }
      switch text[..<equals] {
      case "source":
        let name = value.prefix { $0 != ":" }
        let path = value.dropFirst(name.count + 1)
        let whole =
          ["file", "replay"].contains(name) ? "\(name):\(absolutePath(String(path)))" : value
        values["source"] = Tree(whole, isQuoted: true)
      case "source-set":
        settings.merge(try keyValues([value], option: "source-set")) { $1 }
        values["source_settings"] = Tree(settings)
      case "format", "size": values[String(text[..<equals])] = Tree(value, isQuoted: true)
      case "rate": values["rate"] = Tree(value, isQuoted: true)
      case "stage": add(value.isEmpty ? nil : value, to: "stages")
      case "attach": add(try absolute(sink: value, kinds), to: "attach")
      case "detach": add(value, to: "detach")
      case "pipeline":
        var run = try DescriptionFile(path: value).run(kinds)
        run.origins = [value]
        if let error = run.errors(kinds).first?.error { throw error }
        values["pipeline"] = Tree(run)
      case let key:
        throw RunError(
          .usage,
          "`reconfigure` has no `\(key)`; "
            + knownNames(Self.changeKeys, near: String(key), "it has"))
      }
    }
    return values.sorted { $0.key < $1.key }.map { Tree.Entry($0.key, $0.value) }
  }

  /// The text of a sink, with an absolute path if it writes a file.
  private func absolute(sink text: String, _ kinds: Kinds) throws(RunError) -> String {
    // The run may know sinks that this program does not.
    guard let (kind, given) = try? kinds.sinkTexts(text), let argument = kind.argument,
      var settings = try? kind.settings(given), !settings.files.isEmpty
    else { return text }
    settings.moveFiles(to: workingFolder())
    var texts = given
    for name in texts.keys { texts[name] = settings.text(of: name) }
    let path = texts.removeValue(forKey: argument) ?? ""
    let others = texts.map { "\($0)=\($1)" }.sorted()
    return "\(kind.name):" + ([path] + others).joined(separator: ",")
  }

  /// What an argument stands for.
  private func values(_ text: String) throws(RunError) -> [Tree.Entry] {
    switch request {
    case "record", "next": return [Tree.Entry("path", Tree(absolutePath(text), isQuoted: true))]
    case "stop", "pause", "resume": return [try number("recording", text, "a recording's number")]
    case "cancel": return [try number("id", text, "a request's id")]
    case "photo": return [try number("frames", text, "a number of frames")]
    case "set":
      guard let colon = text.firstIndex(of: ":") else {
        throw RunError(.usage, "write \(text) as STAGE:KEY=VALUE,...")
      }
      let pairs = text[text.index(after: colon)...].split(separator: ",").map(String.init)
      return [
        Tree.Entry("stage", Tree(String(text[..<colon]), isQuoted: true)),
        Tree.Entry("settings", Tree(try keyValues(pairs, option: "set"))),
      ]
    default: throw RunError(.usage, "`\(request)` takes nothing; leave \(text) out")
    }
  }

  private func number(
    _ key: String, _ text: String, _ what: String
  ) throws(RunError) -> Tree.Entry {
    guard let number = UInt64(text) else { throw RunError(.usage, "\(text) is not \(what)") }
    return Tree.Entry(key, Tree("\(number)", isQuoted: false))
  }
}

extension Tree {
  /// Texts by their names.
  fileprivate init(_ texts: [String: String]) {
    let sorted = texts.sorted { $0.key < $1.key }
    self.init(.map(sorted.map { Entry($0.key, Tree($0.value, isQuoted: true)) }))
  }
}
