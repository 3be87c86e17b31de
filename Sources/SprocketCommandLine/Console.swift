internal import Glibc
internal import Sprocket
internal import Synchronization

/// Standard output or standard error, as a person reads it: line by line.
///
/// Lines wait in a queue, and a thread of its own writes them. So a full pipe or a stopped terminal does
/// not block the threads that look at signals, show progress, or end the program. Nothing else may write
/// to the two, but for what the user asked to have on standard output (`--pipe`, `-` behind an option).
///
/// The queue is bounded. Where it is full, a progress line goes first; of progress lines only the newest
/// waits. What was left out is counted, and said at the end.
///
/// Every line is made printable here, whatever names are in it; JSON alone keeps them.
final class Console: Sendable {
  static let errors = Console(2)
  static let output = Console(1)

  /// Bytes that may wait. A larger value keeps more lines while standard error is blocked; a
  /// thousand sentences are below it.
  static let capacity = 1 << 18
  /// Milliseconds.
  private static let patience: Int32 = 200

  private struct State {
    var waiting: [Line] = []
    var byteCount = 0
    /// Lines that nobody wrote: progress that a newer line replaced, and all else.
    var skippedProgress = 0
    var skippedLines = 0
    var isClosed = false
    /// What writing failed with; nothing is written after that.
    var failure: Int32 = 0
    var writer: BackgroundWork<Void>?
    /// No thread could be started: a line is written where it is said, if there is room within
    /// `patience`, and left out otherwise.
    var hasNoThread = false
  }

  private struct Line {
    var text: String
    var isProgress = false
  }

  let isTerminal: Bool
  private let descriptor: Int32
  private let state = Mutex(State())
  /// Rung for each line, and at the end.
  private let bell = Bell()

  private init(_ descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
  }

  /// Starts the thread. Called early, while there is memory and a process limit leaves room for it. If
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

  /// JSON escapes what a terminal would obey, but for what only looks odd: it stays what it is.
  func say(json: String) { add(Line(text: json)) }

  /// A line that the next one replaces, on a terminal or while it waits.
  func show(progress: String) { add(Line(text: printable(progress), isProgress: true)) }

  private func add(_ line: Line) {
    start()
    if state.withLock({ $0.hasNoThread }) {
      if hasRoom(within: Self.patience) { write(line.text + "\n") }
      return
    }
    state.withLock { state in
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
    // What a person asked for in full is bounded by what there is.
    descriptor != 1 && state.byteCount >= Self.capacity
  }

  /// No more lines come: the thread ends when all are written. True when that is so, within `limit`.
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
    var isProgressShown = false
    while true {
      bell.wait()
      let (line, isOver) = state.withLock { state -> (Line?, Bool) in
        guard !state.waiting.isEmpty else { return (lastWord(&state), state.isClosed) }
        let line = state.waiting.removeFirst()
        state.byteCount -= line.text.utf8.count
        return (line, false)
      }
      if let line {
        let clears = isTerminal && (isProgressShown || line.isProgress) ? "\r\u{1B}[K" : ""
        isProgressShown = line.isProgress
        write(clears + line.text + (isTerminal && line.isProgress ? "" : "\n"))
      }
      if isOver { return }
    }
  }

  /// What was left out, once all else is written.
  private func lastWord(_ state: inout State) -> Line? {
    // On a terminal progress is one line that changes.
    let progress = isTerminal ? 0 : state.skippedProgress
    guard state.isClosed, state.skippedLines + progress > 0 else { return nil }
    return Line(
      text: "\(programName): standard error was blocked: \(progress) lines of progress and "
        + "\(state.skippedLines) others were left out")
  }

  /// Waits until something can be written; negative milliseconds wait for ever.
  private func hasRoom(within milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&request, 1, milliseconds) == 1
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
          // Whoever opened it made it non-blocking.
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

/// Wakes one thread, as often as it was rung.
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
