internal import SprocketCore

/// A thread that runs jobs one after the other. It is made before the run, so that sinks can be
/// finished and sealed, and the run ended, even if no further thread can be started.
final class JobThread: Sendable {
  private let thread: EngineThread
  private let bench: Bench

  // Values of `Bench.state`.
  private static let idle: UInt32 = 0
  private static let busy: UInt32 = 1
  private static let ended: UInt32 = 2

  private final class Bench: Sendable {
    let job = Locked<(@Sendable () -> Void)?>(nil)
    let state = FutexWord()

    /// True when there was a job.
    func work() -> Bool {
      // No deadline: the owner's `deinit` ends the wait.
      while !state.wait(while: JobThread.idle, until: .max) {}
      guard state.value == JobThread.busy else { return false }
      // The job is released before the state becomes idle. So its captures are gone when another
      // thread finds it idle.
      job.withLock { $0.take() }?()
      return state.exchange(JobThread.busy, for: JobThread.idle)
    }
  }

  init(_ name: String) throws(RunError) {
    let bench = Bench()
    self.bench = bench
    thread = try EngineThread(name) { while bench.work() {} }
  }

  deinit { bench.state.set(Self.ended) }

  /// Runs `job` on the thread, which must be idle.
  func perform(_ job: @escaping @Sendable () -> Void) {
    bench.job.withLock { $0 = job }
    let wasIdle = bench.state.exchange(Self.idle, for: Self.busy)
    precondition(wasIdle, "the thread `\(thread.name)` has a job already: wait for its end")
  }

  var name: String { thread.name }
  var isIdle: Bool { bench.state.value == Self.idle }
  var cpuTime: Int64 { thread.cpuTime }

  /// Waits for the job to be done, until `deadline` (monotonic). False if it is not by then.
  func wait(until deadline: Int64) -> Bool {
    bench.state.wait(while: Self.busy, until: deadline)
  }
}
