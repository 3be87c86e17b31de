internal import Glibc
internal import Sprocket
internal import SprocketShare

/// A client's connection to the control socket of a run.
///
/// `tryConnect`, `trySend` and `take` never wait, so that one thread can ask several runs. The other
/// functions wait for a limited time, and end early at a signal.
final class RunConnection {
  let path: String
  private let descriptor: Int32
  private let address: SocketAddress
  private var isConnected = false
  /// Whether the socket has no program: the one that made it was killed.
  private(set) var isLeftOver = false
  private var input: [UInt8] = []
  private var output: [UInt8] = []

  /// Longest time until the run accepts the connection, and until it answers: 10 s. Larger: a slower run is
  /// waited for, and a run that hangs is reported later.
  static let patience = Duration.seconds(10)
  /// Most bytes of a line: 64 MB, more than the records of 1,024 files. Larger: a program that is no run
  /// may take more memory.
  private static let longestLine = 1 << 26

  /// Does not connect. The corresponding C function is `socket`.
  init(path: String) throws(RunError) {
    self.path = path
    guard let address = SocketAddress(path: path) else {
      throw RunError(.usage, "\(path) is no path of a socket; give that of --control-socket")
    }
    self.address = address
    let flags =
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    descriptor = socket(AF_UNIX, flags, 0)
    guard descriptor >= 0 else { throw Self.failure(path, errno) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  private static func failure(_ path: String, _ code: Int32) -> RunError {
    if code == ECONNREFUSED, PartialFile.isFile(path) {
      return RunError(
        .usage, "\(path) is a plain file and no socket; give the path of a run's --control-socket")
    }
    return RunError(
      .failed,
      code == ENOENT || code == ECONNREFUSED
        ? "no run listens on \(path); start one with --control-socket \(path)"
        : "cannot connect to \(path): \(RunError.text(code)); give the socket of a run that is yours"
    )
  }

  static func silence(_ path: String) -> RunError {
    RunError(.failed, "the run behind \(path) does not answer; look at what it waits for")
  }

  // MARK: Without waiting

  /// Returns whether it is connected. If not, the queue of connections that the run has not accepted is
  /// full: try again. The corresponding C function is `connect`.
  func tryConnect() throws(RunError) -> Bool {
    if isConnected { return true }
    let code =
      unsafe address.withPointer { unsafe Glibc.connect(descriptor, $0, $1) } == 0 ? 0 : errno
    isLeftOver = code == ECONNREFUSED
    guard code == 0 || code == EAGAIN || code == EINTR else { throw Self.failure(path, code) }
    isConnected = code == 0
    return isConnected
  }

  /// The user whose program listens; `nil` if that is not known.
  var user: uid_t? { peerUser(of: descriptor) }

  /// Adds a line to what is sent.
  func add(_ line: String) { output += Array(line.utf8) }

  /// Sends as much as the run takes. Returns whether that was all. The corresponding C function is `send`.
  func trySend() throws(RunError) -> Bool {
    while !output.isEmpty {
      let count = unsafe output.withUnsafeBytes {
        unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return false }
      guard count > 0 else {
        throw RunError(.failed, "the run behind \(path) does not listen; ask again")
      }
      output.removeFirst(count)
    }
    return true
  }

  enum Input: Equatable {
    case line(String)
    /// No whole line has come.
    case nothing
    case end
  }

  /// The next line that has come. The corresponding C function is `read`.
  func take() -> Input {
    var searched = 0
    while true {
      if let end = input[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: input[..<end], as: UTF8.self)
        input.removeFirst(end + 1)
        return .line(line)
      }
      searched = input.count
      var bytes = [UInt8](repeating: 0, count: 1 << 16)
      let count = unsafe read(descriptor, &bytes, bytes.count)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return .nothing }
      guard count > 0, input.count + count <= Self.longestLine else { return .end }
      input += bytes[..<count]
    }
  }

  /// Waits until one of the connections has something to do, or a key was pressed if `keys`. The
  /// corresponding C function is `poll`.
  static func wait(for connections: [RunConnection], keys: Bool = false, milliseconds: Int32) {
    var requests = [pollfd(fd: keys ? 0 : -1, events: Int16(POLLIN), revents: 0)]
    for connection in connections where connection.isConnected {
      let events = POLLIN | (connection.output.isEmpty ? 0 : POLLOUT)
      requests.append(pollfd(fd: connection.descriptor, events: Int16(events), revents: 0))
    }
    _ = unsafe poll(&requests, nfds_t(requests.count), milliseconds)
  }

  // MARK: Waiting

  func connect(_ signals: inout StopSignals) throws(RunError) {
    let end = deadline(in: Self.patience.nanosecondCount)
    while try !tryConnect() {
      if signals.take() || monotonicNow() > end { throw Self.silence(path) }
      usleep(20_000)
    }
  }

  func send(_ line: String, _ signals: inout StopSignals) throws(RunError) {
    add(line)
    let end = deadline(in: Self.patience.nanosecondCount)
    while try !trySend() {
      if signals.take() || monotonicNow() > end { throw Self.silence(path) }
      Self.wait(for: [self], milliseconds: 50)
    }
  }

  /// Waits for the next line. Returns `nil` at the end and after a signal; throws if no line has come
  /// within `limit`.
  func line(_ signals: inout StopSignals, limit: Duration?) throws(RunError) -> String? {
    let end = limit.map { deadline(in: $0.nanosecondCount) } ?? .max
    while true {
      switch take() {
      case .line(let line): return line
      case .end: return nil
      case .nothing: break
      }
      if signals.take() { return nil }
      guard monotonicNow() < end else { throw Self.silence(path) }
      Self.wait(for: [self], milliseconds: 50)
    }
  }
}
