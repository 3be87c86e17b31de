internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Sprocket

/// `sprocket ask`: asks a run that has a control socket.
struct AskCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ask", abstract: "Asks a run with --control-socket, and prints its answer.",
    discussion: """
      Requests: record [PATH], stop [N], next [PATH], photo [FRAMES], control NAME=VALUE, status, \
      recordings, events, quit. N is a recording's number; without it, the latest is meant. Events are \
      printed until the run ends.
      """)

  @Argument(help: "The run's socket.", completion: .file())
  var socket: String

  @Argument(help: "What to ask.")
  var request: String

  @Argument(help: "What it needs, as the requests above say.")
  var argument: String?

  func execute(_ signals: inout StopSignals) throws {
    let line = try line()
    let connection = try Connection(path: socket)
    try connection.send(line)
    var isAnswer = true
    while let text = try connection.line(&signals, limit: isAnswer ? .seconds(10) : nil) {
      Console.output.say(json: text)
      if isAnswer, !text.contains("\"ok\":true") { throw ExitCode(1) }
      isAnswer = false
      if request != "events" { return }
    }
    if isAnswer { throw RunError(.failed, "the run closed \(socket) without an answer; ask again") }
  }

  private func line() throws(RunError) -> String {
    var keys = ["request": request]
    var numbers: [String: UInt64] = [:]
    switch (request, argument) {
    case (_, nil): break
    case ("record", let path?), ("next", let path?): keys["path"] = path
    case ("stop", let text?): numbers["recording"] = try number(text, "a recording's number")
    case ("photo", let text?): numbers["frames"] = try number(text, "a number of frames")
    case ("control", let text?):
      guard let equals = text.firstIndex(of: "=") else {
        throw RunError(.usage, "write \(text) as NAME=VALUE")
      }
      keys["name"] = String(text[..<equals])
      keys["value"] = String(text[text.index(after: equals)...])
    case (_, let text?): throw RunError(.usage, "`\(request)` takes nothing; leave \(text) out")
    }
    let encoder = JSONEncoder()
    guard let texts = try? encoder.encode(keys), let counts = try? encoder.encode(numbers) else {
      throw RunError(.usage, "the request cannot be put into JSON; write it in UTF-8")
    }
    let text = String(decoding: texts, as: UTF8.self)
    guard !numbers.isEmpty else { return text + "\n" }
    return text.dropLast() + "," + String(decoding: counts, as: UTF8.self).dropFirst() + "\n"
  }

  private func number(_ text: String, _ what: String) throws(RunError) -> UInt64 {
    guard let number = UInt64(text) else { throw RunError(.usage, "\(text) is not \(what)") }
    return number
  }
}

/// A connection to a control socket.
private final class Connection {
  private let descriptor: Int32
  private let path: String
  private var input: [UInt8] = []

  /// The corresponding C functions are `socket` and `connect`.
  init(path: String) throws(RunError) {
    self.path = path
    guard let address = SocketAddress(path: path) else {
      throw RunError(.usage, "\(path) is no path of a socket; give that of --control-socket")
    }
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0, unsafe address.withPointer({ unsafe connect(descriptor, $0, $1) }) == 0
    else {
      let code = errno
      let reason = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
      throw RunError(
        .failed,
        code == ENOENT || code == ECONNREFUSED
          ? "no run listens on \(path); start one with --control-socket \(path)"
          : "cannot connect to \(path): \(reason); give the socket of a run that is yours")
    }
  }

  deinit { close(descriptor) }

  func send(_ line: String) throws(RunError) {
    let bytes = Array(line.utf8)
    guard unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    else { throw RunError(.failed, "the run behind \(path) does not listen; ask again") }
  }

  /// The next line; `nil` at the end, and after a signal. Throws if it has not come within `limit`.
  func line(_ signals: inout StopSignals, limit: Duration?) throws(RunError) -> String? {
    let end = limit.map { monotonicNow() + $0.nanosecondCount } ?? .max
    while true {
      if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: input[..<end], as: UTF8.self)
        input.removeFirst(end + 1)
        return line
      }
      if signals.take() { return nil }
      guard monotonicNow() < end else {
        throw RunError(.failed, "the run behind \(path) does not answer; look at what it waits for")
      }
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&request, 1, 50) == 1 else { continue }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = unsafe read(descriptor, &bytes, bytes.count)
      guard count > 0 else { return nil }
      input += bytes[..<count]
    }
  }
}
