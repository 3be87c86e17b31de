internal import ArgumentParser
internal import FoundationEssentials
internal import Sprocket

/// `sprocket ask`: sends one request to a run that has a control socket, and prints the answer.
struct AskCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ask", abstract: "Asks a run with --control-socket, and prints its answer.",
    discussion: """
      Requests: record [PATH], stop [N], next [PATH], photo [FRAMES], control NAME=VALUE, \
      set STAGE:KEY=VALUE,..., status, recordings, events, quit. N is a recording's number; without it, \
      the latest is meant. Events are printed until the run ends.
      """)

  @Argument(help: "The run's socket.", completion: .file())
  var socket: String

  @Argument(help: "What to ask.")
  var request: String

  @Argument(help: "What it needs, as the requests above say.")
  var argument: String?

  func execute(_ signals: inout StopSignals) throws {
    let line = try line()
    let connection = try RunConnection(path: socket)
    try connection.connect(&signals)
    try connection.send(line, &signals)
    var isAnswer = true
    while let text = try connection.line(&signals, limit: isAnswer ? RunConnection.patience : nil) {
      Console.output.say(json: text)
      if isAnswer, !text.contains("\"ok\":true") { throw ExitCode(1) }
      isAnswer = false
      // Standard output may have been closed while events come.
      if request != "events" || Console.output.failure != 0 { return }
    }
    if isAnswer { throw RunError(.failed, "the run closed \(socket) without an answer; ask again") }
  }

  /// A request in JSON (`RequestAnswerer`).
  private struct Line: Encodable {
    let request: String
    var path, name, value, stage: String?
    var recording, frames: UInt64?
    var settings: [String: String]?
  }

  private func line() throws(RunError) -> String {
    var line = Line(request: request)
    switch (request, argument) {
    case (_, nil): break
    case ("record", let path?), ("next", let path?): line.path = absolutePath(path)
    case ("stop", let text?): line.recording = try number(text, "a recording's number")
    case ("photo", let text?): line.frames = try number(text, "a number of frames")
    case ("control", let text?):
      guard let equals = text.firstIndex(of: "=") else {
        throw RunError(.usage, "write \(text) as NAME=VALUE")
      }
      line.name = String(text[..<equals])
      line.value = String(text[text.index(after: equals)...])
    case ("set", let text?):
      guard let colon = text.firstIndex(of: ":") else {
        throw RunError(.usage, "write \(text) as STAGE:KEY=VALUE,...")
      }
      line.stage = String(text[..<colon])
      let pairs = text[text.index(after: colon)...].split(separator: ",").map(String.init)
      line.settings = try keyValues(pairs, option: "set")
    case (_, let text?): throw RunError(.usage, "`\(request)` takes nothing; leave \(text) out")
    }
    guard let text = try? JSONEncoder().encode(line) else {
      throw RunError(.usage, "the request cannot be put into JSON; write it in UTF-8")
    }
    return String(decoding: text, as: UTF8.self) + "\n"
  }

  private func number(_ text: String, _ what: String) throws(RunError) -> UInt64 {
    guard let number = UInt64(text) else { throw RunError(.usage, "\(text) is not \(what)") }
    return number
  }
}
