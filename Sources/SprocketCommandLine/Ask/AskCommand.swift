internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
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
    let connection = try Connection(path: socket, &signals)
    try connection.send(line, &signals)
    var isAnswer = true
    while let text = try connection.line(&signals, limit: isAnswer ? Connection.patience : nil) {
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
    case ("record", let path?), ("next", let path?): line.path = Self.absolute(path)
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

  /// Makes a path absolute, because the run may have another working directory. The corresponding C function
  /// is `getcwd`.
  private static func absolute(_ path: String) -> String {
    guard !path.isEmpty, !path.hasPrefix("/"), let folder = unsafe getcwd(nil, 0) else {
      return path
    }
    defer { unsafe free(folder) }
    return unsafe "\(String(cString: folder))/\(path)"
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

  /// Longest time until the run accepts the connection, and until it answers: 10 s. Larger: a slower run is
  /// waited for, and a run that hangs is reported later.
  static let patience = Duration.seconds(10)

  /// The corresponding C functions are `socket` and `connect`.
  init(path: String, _ signals: inout StopSignals) throws(RunError) {
    self.path = path
    guard let address = SocketAddress(path: path) else {
      throw RunError(.usage, "\(path) is no path of a socket; give that of --control-socket")
    }
    let flags =
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    descriptor = socket(AF_UNIX, flags, 0)
    var code = descriptor < 0 ? errno : EAGAIN
    let end = deadline(in: Self.patience.nanosecondCount)
    while code == EAGAIN {
      // EAGAIN: the queue of connections that the run has not accepted is full.
      code = unsafe address.withPointer { unsafe connect(descriptor, $0, $1) } == 0 ? 0 : errno
      guard code == EAGAIN else { break }
      if signals.take() || monotonicNow() > end { throw Self.silence(path) }
      usleep(20_000)
    }
    guard code == 0 else {
      throw RunError(
        .failed,
        code == ENOENT || code == ECONNREFUSED
          ? "no run listens on \(path); start one with --control-socket \(path)"
          : "cannot connect to \(path): \(RunError.text(code)); give the socket of a run that is yours"
      )
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  private static func silence(_ path: String) -> RunError {
    RunError(.failed, "the run behind \(path) does not answer; look at what it waits for")
  }

  func send(_ line: String, _ signals: inout StopSignals) throws(RunError) {
    var bytes = Array(line.utf8)[...]
    let end = deadline(in: Self.patience.nanosecondCount)
    while !bytes.isEmpty {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count > 0 { bytes.removeFirst(count) }
      guard count >= 0 || errno == EAGAIN || errno == EINTR else {
        throw RunError(.failed, "the run behind \(path) does not listen; ask again")
      }
      if bytes.isEmpty { return }
      if signals.take() || monotonicNow() > end { throw Self.silence(path) }
      var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      _ = unsafe poll(&request, 1, 50)
    }
  }

  /// Waits for the next line. Returns `nil` at the end and after a signal; throws if no line has come within
  /// `limit`.
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
        throw Self.silence(path)
      }
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&request, 1, 50) == 1 else { continue }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = unsafe read(descriptor, &bytes, bytes.count)
      if count < 0, errno == EAGAIN || errno == EINTR { continue }
      guard count > 0 else { return nil }
      input += bytes[..<count]
    }
  }
}
