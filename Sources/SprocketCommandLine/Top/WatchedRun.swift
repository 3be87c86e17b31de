internal import FoundationEssentials
internal import Glibc
internal import Sprocket

/// A run that is asked for its state again and again. No function waits.
final class WatchedRun {
  let path: String
  /// Where the socket was found; `nil` if the user named it.
  let found: RunFolder.Found?
  private(set) var connection: RunConnection?
  private(set) var first: StatusDocument?
  private(set) var last: StatusDocument?
  /// The error that ended the latest connection; `nil` while there is one.
  private(set) var error: RunError?
  /// Whether the socket has no program.
  private(set) var isLeftOver = false
  /// When the request was made that has no answer; `nil` if there is none.
  private var asked: Int64?

  init(path: String) {
    self.path = path
    found = nil
  }

  init(_ found: RunFolder.Found) {
    path = found.path
    self.found = found
  }

  /// Whether a request has no answer, and the run has not ended.
  var isAsked: Bool { asked != nil }

  /// Time for which the run has not answered.
  var silence: Duration { .nanoseconds(asked.map { monotonicNow() - $0 } ?? 0) }

  /// Asks for the state, unless the earlier request has no answer.
  func ask() {
    guard asked == nil else { return }
    do throws(RunError) {
      if connection == nil { connection = try RunConnection(path: path) }
      connection?.add("{\"request\":\"status\"}\n")
      asked = monotonicNow()
      error = nil
      _ = try send()
    } catch {
      end(error)
    }
  }

  /// Does what can be done now. Returns whether an answer came, or the connection ended.
  func advance() -> Bool {
    guard let connection, asked != nil else { return false }
    do throws(RunError) {
      guard try send() else { return false }
      switch connection.take() {
      case .nothing: return false
      case .end: throw RunError(.failed, "the run behind \(path) has ended")
      case .line(let line):
        asked = nil
        try read(line)
      }
    } catch {
      end(error)
    }
    return true
  }

  /// Returns whether it is connected.
  private func send() throws(RunError) -> Bool {
    guard let connection, try connection.tryConnect() else { return false }
    // Only the user's own runs are asked without being named.
    guard found == nil || connection.user == geteuid() else {
      throw RunError(.failed, "\(path) is another user's")
    }
    _ = try connection.trySend()
    return true
  }

  private struct Answer: Decodable {
    let status: StatusDocument
  }

  private func read(_ line: String) throws(RunError) {
    guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(line.utf8)) else {
      throw RunError(
        .failed,
        "what listens on \(path) does not answer as a run of this version does; update both")
    }
    first = last
    last = answer.status
  }

  private func end(_ error: RunError) {
    self.error = error
    isLeftOver = connection?.isLeftOver ?? false
    connection = nil
    asked = nil
    first = nil
    last = nil
  }

  var figures: RunFigures? { last.map { RunFigures(socket: path, from: first, to: $0) } }
}

/// All runs that are watched: those that the user named, or those that are found.
struct TopWatch {
  private let named: [String]
  private(set) var runs: [WatchedRun]

  /// Time without an answer after which a run is shown as silent. Larger: a slow run keeps its lines longer,
  /// and a stalled one looks as if it went on.
  private static let patience = Duration.seconds(1)

  init(named: [String]) {
    self.named = named
    runs = named.map { WatchedRun(path: $0) }
  }

  var isFinding: Bool { named.isEmpty }

  /// Looks for new runs, leaves out those that ended, and asks all for their state.
  mutating func ask() {
    if isFinding { find() }
    for run in runs { run.ask() }
    if isFinding { runs.removeAll { $0.error != nil } }
  }

  private mutating func find() {
    for found in RunFolder.sockets()
    where !runs.contains(where: { $0.found?.identity == found.identity }) {
      let run = WatchedRun(found)
      run.ask()
      if run.error == nil {
        runs.append(run)
      } else if run.isLeftOver, let folder = found.folder {
        RunFolder.remove(found.identity, from: folder)
      }
    }
  }

  /// Waits until a run answers, or a key was pressed if `keys`. Returns whether a run answered or ended.
  mutating func wait(keys: Bool = false, milliseconds: Int32) -> Bool {
    RunConnection.wait(
      for: runs.filter(\.isAsked).compactMap(\.connection), keys: keys, milliseconds: milliseconds)
    var hasChanged = false
    for run in runs where run.advance() { hasChanged = true }
    if isFinding { runs.removeAll { $0.error != nil } }
    return hasChanged
  }

  /// Whether all runs have answered or ended, except those that have been silent for `limit`.
  func isComplete(within limit: Duration) -> Bool {
    runs.allSatisfy { !$0.isAsked || $0.silence >= limit }
  }

  /// Lines of all runs, those with the lowest process number first.
  var lines: [String] {
    sorted.enumerated().flatMap { index, run in (index > 0 ? [""] : []) + Self.lines(run) }
  }

  var sorted: [WatchedRun] {
    isFinding ? runs.sorted { $0.last?.pid ?? .max < $1.last?.pid ?? .max } : runs
  }

  private static func lines(_ run: WatchedRun) -> [String] {
    if let error = run.error {
      return [TopTable.line(socket: run.path, pid: nil, problem: error.description)]
    }
    if run.silence >= patience || run.last == nil {
      let seconds = run.silence.nanosecondCount / 1_000_000_000
      return [
        TopTable.line(
          socket: run.path, pid: run.last?.pid, problem: "no answer for \(seconds) s")
      ]
    }
    return run.figures.map { TopTable.lines($0) } ?? []
  }
}
