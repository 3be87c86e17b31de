internal import Sprocket

/// Runs a session's calls one after the other on a thread of the engine's, which may block: a call opens
/// devices and waits for threads. Urgent calls go first, others in the order in which they came.
final class CaptureExecutor: SerialExecutor {
  private let jobs = JobList()
  private let thread: BackgroundWork<Void>

  /// Throws where no thread can be had.
  init() throws(RunError) {
    let jobs = jobs
    thread = try BackgroundWork("capture") { jobs.run() }
  }

  deinit { jobs.end() }

  func enqueue(_ job: consuming ExecutorJob) {
    unsafe jobs.add(UnownedJob(job), for: asUnownedSerialExecutor())
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }
}

/// Calls that wait for their thread.
private final class JobList: Sendable {
  /// A call, and the executor that it was made for, which lives until it has run: its actor keeps it.
  @safe
  private struct Entry {
    let job: UnownedJob
    private let executor: UnownedSerialExecutor

    init(_ job: UnownedJob, _ executor: UnownedSerialExecutor) {
      self.job = job
      unsafe self.executor = unsafe executor
    }

    func run() { unsafe job.runSynchronously(on: executor) }
  }

  private struct State {
    var waiting: [Entry] = []
    var isEnded = false
  }

  private let state = Locked(State())
  /// Advances with each change of the state.
  private let word = FutexWord()

  func add(_ job: UnownedJob, for executor: UnownedSerialExecutor) {
    let entry = unsafe Entry(job, executor)
    state.withLock { state in
      let place = state.waiting.firstIndex {
        $0.job.priority.rawValue < job.priority.rawValue
      }
      state.waiting.insert(entry, at: place ?? state.waiting.count)
    }
    word.advance()
  }

  func end() {
    state.withLock { $0.isEnded = true }
    word.advance()
  }

  func run() {
    while true {
      let seen = word.value
      let (entry, isEnded) = state.withLock { state in
        (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), state.isEnded)
      }
      if let entry {
        entry.run()
      } else if isEnded {
        return
      } else {
        _ = word.wait(while: seen, until: .max)
      }
    }
  }
}
