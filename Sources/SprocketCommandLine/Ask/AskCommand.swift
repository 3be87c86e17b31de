internal import ArgumentParser
internal import FoundationEssentials
internal import Sprocket
internal import SprocketPipelines

/// `sprocket ask`: sends one request to a run that has a control socket, and prints the answer.
struct AskCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ask", abstract: "Asks a run with --control-socket, and prints its answer.",
    discussion: """
      Requests: record [PATH], stop [N], next [PATH], photo [FRAMES], cancel ID, control NAME=VALUE..., \
      set STAGE:KEY=VALUE,..., reconfigure KEY=VALUE..., status, recordings, events, quit. N is a \
      recording's number; without it, the latest is meant. ID is from the answer to a request that \
      waits for its frame. Events are printed until the run ends.
      Keys of reconfigure: source, source-set (KEY=VALUE), format, size, rate; stage, once for each of \
      the whole chain, empty for none; attach and detach, once for each sink.
      """)

  @Argument(help: "The run's socket.", completion: .file())
  var socket: String

  @Argument(help: "What to ask.")
  var request: String

  @Argument(help: "What it needs, as the requests above say.")
  var arguments: [String] = []

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

  /// A request in JSON (`RequestAnswerer`).
  private struct Line: Encodable {
    let request: String
    var path, name, value, stage: String?
    var recording, frames, id: UInt64?
    var settings, controls: [String: String]?
    var source, format, size: String?
    var rate: Double?
    var sourceSettings: [String: String]?
    var stages, attach, detach: [String]?

    enum CodingKeys: String, CodingKey {
      case request, path, name, value, stage, recording, frames, id, settings, controls
      case source, format, size, rate, stages, attach, detach
      case sourceSettings = "source_settings"
    }
  }

  private func line(_ kinds: Kinds) throws(RunError) -> String {
    var line = Line(request: request)
    if request == "reconfigure" {
      try addChange(to: &line, kinds)
    } else if request == "control" {
      guard !arguments.isEmpty else { throw missing("NAME=VALUE") }
      line.controls = try keyValues(arguments, option: "control")
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
      try addArgument(to: &line)
    }
    guard let text = try? JSONEncoder().encode(line) else {
      throw RunError(.usage, "the request cannot be put into JSON; write it in UTF-8")
    }
    return String(decoding: text, as: UTF8.self) + "\n"
  }

  private func missing(_ arguments: String) -> RunError {
    RunError(
      .usage,
      "`\(request)` needs to know what: `\(programName) ask \(socket) \(request) \(arguments)`")
  }

  /// What is to change, as `KEY=VALUE` each. Relative paths are those of this process.
  private func addChange(to line: inout Line, _ kinds: Kinds) throws(RunError) {
    for text in arguments {
      guard let equals = text.firstIndex(of: "=") else {
        throw RunError(.usage, "write \(text) as KEY=VALUE")
      }
      let value = String(text[text.index(after: equals)...])
      switch text[..<equals] {
      case "source":
        let name = value.prefix { $0 != ":" }
        let path = value.dropFirst(name.count + 1)
        line.source =
          ["file", "replay"].contains(name) ? "\(name):\(absolutePath(String(path)))" : value
      case "source-set":
        let pair = try keyValues([value], option: "source-set")
        line.sourceSettings = (line.sourceSettings ?? [:]).merging(pair) { $1 }
      case "format": line.format = value
      case "size": line.size = value
      case "rate":
        guard let rate = Double(value) else {
          throw RunError(.usage, "\(value) is not a rate; give frames/s")
        }
        line.rate = rate
      case "stage":
        line.stages = (line.stages ?? []) + (value.isEmpty ? [] : [value])
      case "attach":
        line.attach = (line.attach ?? []) + [try absolute(sink: value, kinds)]
      case "detach": line.detach = (line.detach ?? []) + [value]
      case let key:
        let known = ["source", "source-set", "format", "size", "rate", "stage", "attach", "detach"]
        throw RunError(
          .usage, "`reconfigure` has no `\(key)`; " + knownNames(known, near: String(key), "it has")
        )
      }
    }
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

  private func addArgument(to line: inout Line) throws(RunError) {
    switch (request, argument) {
    case (_, nil): break
    case ("record", let path?), ("next", let path?): line.path = absolutePath(path)
    case ("stop", let text?): line.recording = try number(text, "a recording's number")
    case ("cancel", let text?): line.id = try number(text, "a request's id")
    case ("photo", let text?): line.frames = try number(text, "a number of frames")
    case ("set", let text?):
      guard let colon = text.firstIndex(of: ":") else {
        throw RunError(.usage, "write \(text) as STAGE:KEY=VALUE,...")
      }
      line.stage = String(text[..<colon])
      let pairs = text[text.index(after: colon)...].split(separator: ",").map(String.init)
      line.settings = try keyValues(pairs, option: "set")
    case (_, let text?): throw RunError(.usage, "`\(request)` takes nothing; leave \(text) out")
    }
  }

  private func number(_ text: String, _ what: String) throws(RunError) -> UInt64 {
    guard let number = UInt64(text) else { throw RunError(.usage, "\(text) is not \(what)") }
    return number
  }
}
