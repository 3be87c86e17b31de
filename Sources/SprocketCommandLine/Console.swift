internal import Glibc
internal import Sprocket

/// Writes lines to standard output or standard error.
///
/// Lines wait in a queue, and a separate thread writes them. So a full pipe or a stopped terminal
/// does not block the threads that check for signals, show progress, or end the program. Nothing
/// else may write to these two, except data that the user directs to standard output (`--pipe`, or
/// `-` as the value of an option).
///
/// The queue of standard error is bounded. When it is full, a waiting progress line is dropped
/// first, then new lines. At most one progress line waits, the newest. The number of dropped lines
/// is reported at the end.
///
/// Control characters, which file and device names may contain, are made visible in every line
/// (`printable`). Only JSON is written unchanged.
final class Console: Sendable {
  static let errors = Console(2)
  static let output = Console(1)

  /// Number of waiting bytes from which the queue is full: enough for a thousand sentences. A
  /// larger value keeps more lines while standard error is blocked.
  static let capacity = 1 << 18
  /// Milliseconds that a line waits for room if there is no writer thread. Larger: fewer lines are lost, and
  /// a blocked terminal delays the program.
  private static let patience: Int32 = 200

  private struct State {
    var waiting: [Line] = []
    var byteCount = 0
    /// Numbers of dropped lines: of progress, and of all others.
    var skippedProgress = 0
    var skippedLines = 0
    var isClosed = false
    /// `errno` of the write that failed, or 0. After a failure nothing is written.
    var failure: Int32 = 0
    var writer: BackgroundWork<Void>?
    /// No thread could be started. Each line is then written on the thread that calls `say`, or
    /// dropped if there is no room within `patience`.
    var hasNoThread = false
  }

  private struct Line {
    enum Kind {
      case line
      /// On a terminal the next line replaces it.
      case progress
      /// All lines of a terminal.
      case screen
      /// Commands to a terminal.
      case command
    }

    var text: String
    var kind = Kind.line
    var isProgress: Bool { kind == .progress }
    var endsLine: Bool { kind == .line || kind == .progress }
  }

  let isTerminal: Bool
  private let descriptor: Int32
  private let state = Locked(State())
  /// Signalled for each line, and at the end.
  private let bell = Bell()

  private init(_ descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
  }

  /// Starts the writer thread. Called early, while memory and the limit of processes allow it. If
  /// it cannot start, each line is written on the thread that calls `say`.
  func start() {
    state.withLock { state in
      guard state.writer == nil, !state.hasNoThread else { return }
      do throws(RunError) {
        state.writer = try BackgroundWork(descriptor == 1 ? "output" : "errors") { self.writeAll() }
      } catch {
        state.hasNoThread = true
      }
    }
  }

  func say(_ line: String) { add(Line(text: printable(line))) }

  /// Adds JSON unchanged. JSON escapes control characters below U+0020; all others stay as they are, so
  /// that programs read the exact names.
  func say(encoding value: some Encodable) throws { add(Line(text: try jsonText(value))) }

  /// Adds a line of JSON unchanged.
  func say(json line: String) { add(Line(text: line)) }

  /// Adds lines of progress. On a terminal the next ones replace them; in the queue, too.
  func show(progress: [String]) {
    add(Line(text: progress.map { printable($0) }.joined(separator: "\n"), kind: .progress))
  }

  /// Changes a terminal to its second screen, without cursor and without wrapping lines. What it showed
  /// before comes back with `endScreen`.
  func beginScreen() { add(Line(text: "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l", kind: .command)) }
  func endScreen() { add(Line(text: "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l", kind: .command)) }

  /// Fills the screen. In the queue a later one replaces it.
  func draw(_ lines: [String]) {
    let text = lines.map { printable($0) + "\u{1B}[K" }.joined(separator: "\r\n")
    add(Line(text: "\u{1B}[H\(text)\u{1B}[J", kind: .screen))
  }

  private func add(_ line: Line) {
    start()
    if state.withLock({ $0.hasNoThread }) {
      if hasRoom(within: Self.patience) { write(line.text + (line.endsLine ? "\n" : "")) }
      return
    }
    state.withLock { state in
      if line.kind == .screen, state.waiting.last?.kind == .screen {
        state.byteCount -= state.waiting.removeLast().text.utf8.count
      }
      if let last = state.waiting.lastIndex(where: \.isProgress), line.isProgress || isFull(state) {
        state.byteCount -= state.waiting.remove(at: last).text.utf8.count
        state.skippedProgress += 1
      }
      guard !isFull(state) else {
        state.skippedLines += 1
        return
      }
      state.byteCount += line.text.utf8.count
      state.waiting.append(line)
    }
    bell.ring()
  }

  private func isFull(_ state: State) -> Bool {
    // Standard output has no bound: it carries the result that the user asked for, and no line of
    // it may be dropped.
    descriptor != 1 && state.byteCount >= Self.capacity
  }

  /// Ends the queue: no line may be added any more. Waits, for at most `limit`, until all lines are
  /// written; false if they are not by then.
  func finish(within limit: Duration) -> Bool {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    if isFirst { bell.ring() }
    return state.withLock { $0.writer }?.wait(for: limit) ?? true
  }

  /// The `errno` of the write that failed; 0 where none has.
  var failure: Int32 { state.withLock { $0.failure } }

  // MARK: The thread

  private func writeAll() {
    // Lines of progress on the terminal.
    var shown = 0
    while true {
      bell.wait()
      let (line, isOver) = state.withLock { state -> (Line?, Bool) in
        guard !state.waiting.isEmpty else { return (lastWord(&state), state.isClosed) }
        let line = state.waiting.removeFirst()
        state.byteCount -= line.text.utf8.count
        return (line, false)
      }
      if let line {
        // From the first of them to the end of the screen.
        let up = shown > 1 ? "\u{1B}[\(shown - 1)A" : ""
        let clears = isTerminal && (shown > 0 || line.isProgress) ? "\r\(up)\u{1B}[J" : ""
        shown = line.isProgress ? line.text.utf8.count { $0 == UInt8(ascii: "\n") } + 1 : 0
        let endsLine = line.endsLine && !(isTerminal && line.isProgress)
        // What does not fit into a line of the terminal is left out: a line that goes on in the next one
        // could not be replaced.
        let (cut, wrap) =
          isTerminal && line.isProgress ? ("\u{1B}[?7l", "\u{1B}[?7h") : ("", "")
        write(clears + cut + line.text + wrap + (endsLine ? "\n" : ""))
      }
      if isOver { return }
    }
  }

  /// The line that reports dropped lines, when the queue is closed and empty; `nil` if none was
  /// dropped.
  private func lastWord(_ state: inout State) -> Line? {
    // On a terminal progress is one line that changes.
    let progress = isTerminal ? 0 : state.skippedProgress
    guard state.isClosed, state.skippedLines + progress > 0 else { return nil }
    return Line(
      text: "\(programName): standard error was blocked: \(progress) lines of progress and "
        + "\(state.skippedLines) others were left out")
  }

  /// Waits until the descriptor can be written. False if it cannot within that time; a negative
  /// time has no limit.
  private func hasRoom(within milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&request, 1, milliseconds) == 1
  }

  /// Whether the reader has closed its end of the pipe. Finds out without writing.
  var isAbandoned: Bool {
    var request = pollfd(fd: descriptor, events: 0, revents: 0)
    return unsafe poll(&request, 1, 0) == 1 && request.revents & Int16(POLLERR | POLLHUP) != 0
  }

  private func write(_ text: String) {
    guard failure == 0 else { return }
    var text = text
    let failed = text.withUTF8 { bytes -> Int32 in
      var done = 0
      while done < bytes.count {
        guard let start = bytes.baseAddress else { return 0 }
        let count = unsafe Glibc.write(descriptor, start + done, bytes.count - done)
        if count >= 0 {
          done += count
        } else if errno == EAGAIN {
          // The descriptor is in non-blocking mode, set by the program that opened it.
          _ = hasRoom(within: -1)
        } else if errno != EINTR {
          return errno
        }
      }
      return 0
    }
    if failed != 0 { state.withLock { $0.failure = failed } }
  }
}

/// Wakes one thread, once for each call of `ring`.
///
/// Unchecked: the semaphore is made before it is shared, and touched by its own functions alone.
@safe
private final class Bell: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { unsafe sem_init(semaphore, 0, 0) }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  /// The corresponding C function is `sem_post`.
  func ring() { unsafe sem_post(semaphore) }

  /// The corresponding C function is `sem_wait`.
  func wait() { while unsafe sem_wait(semaphore) != 0 {} }
}
