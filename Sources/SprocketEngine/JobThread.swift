internal import Synchronization

/// A thread that does one job after the other. Made before the run, so that there is one to finish and
/// seal each sink on, and one to end the run on, even where no further thread can be started.
final class JobThread: Sendable {
  private let thread: EngineThread
  private let bench: Bench

  private static let idle: UInt32 = 0
  private static let busy: UInt32 = 1
  private static let ended: UInt32 = 2

  private final class Bench: Sendable {
    let job = Mutex<(@Sendable () -> Void)?>(nil)
    let state = FutexWord()

    /// True when there was a job.
    func work() -> Bool {
      // No deadline: it ends when the owner goes.
      while !state.wait(while: JobThread.idle, until: .max) {}
      guard state.value == JobThread.busy else { return false }
      // Released before the thread is idle: what the job captured is gone when others see it done.
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

  /// Lets the thread do `job`, which must be its only one.
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
