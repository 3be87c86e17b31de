// The one file that knows threads and clocks of the operating system.

internal import CSprocketSystem
internal import Glibc
internal import Synchronization

/// The monotonic clock, in nanoseconds.
public func monotonicNow() -> Int64 {
  var time = timespec()
  unsafe clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// CPU time that this process has used, in nanoseconds.
func processCPUTime() -> Int64 {
  var time = timespec()
  unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Peak resident memory of this process, in bytes.
func peakResidentBytes() -> Int {
  var usage = rusage()
  unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  return usage.ru_maxrss * 1024
}

/// How many threads can run at once.
public func processorCount() -> Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

/// A thread of the engine: named, joined with a bound.
final class EngineThread: Sendable {
  let name: String
  private let handle: pthread_t
  private let state: State
  private let isJoined = Atomic<Bool>(false)

  /// Unchecked: the word is an atomic, made before the thread and freed after it; the body is the
  /// thread's alone.
  @safe
  private final class State: @unchecked Sendable {
    /// Gone once it has started: it may hold what holds the thread.
    var body: (@Sendable () -> Void)?
    /// 1 once the body has returned; a futex.
    let done: UnsafeMutablePointer<Atomic<UInt32>>

    init(_ body: @escaping @Sendable () -> Void) {
      self.body = body
      unsafe done = .allocate(capacity: 1)
      unsafe done.initialize(to: Atomic(0))
    }

    deinit {
      unsafe done.deinitialize(count: 1)
      unsafe done.deallocate()
    }

    var isDone: Bool { unsafe done.pointee.load(ordering: .acquiring) == 1 }

    func finish() {
      unsafe done.pointee.store(1, ordering: .releasing)
      unsafe futexWake(done)
    }

    func wait(nanoseconds: Int64) { unsafe futexWait(done, 0, nanoseconds: nanoseconds) }
  }

  /// Starts `body`. The kernel shows the first 15 bytes of `name`. Signals go to other threads.
  init(_ name: String, _ body: @escaping @Sendable () -> Void) {
    self.name = name
    let state = State {
      unsafe sprocket_name_thread(name)
      body()
    }
    self.state = state
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, &before)
    var handle = pthread_t()
    let result = unsafe pthread_create(
      &handle, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        let state = unsafe Unmanaged<State>.fromOpaque(argument).takeRetainedValue()
        state.body.take()?()
        state.finish()
        return nil
      }, Unmanaged.passRetained(state).toOpaque())
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    precondition(result == 0, "no thread could be started: raise the limit (ulimit -u)")
    self.handle = handle
  }

  deinit {
    if !isJoined.load(ordering: .relaxed) { pthread_detach(handle) }
  }

  /// True once the body has returned.
  var isDone: Bool { state.isDone }

  /// Waits for the body to return, until `deadline` (monotonic). False if it has not by then.
  /// For one thread at a time.
  func join(until deadline: Int64) -> Bool {
    while !state.isDone {
      let left = deadline - monotonicNow()
      if left <= 0 { return false }
      state.wait(nanoseconds: left)
    }
    if !isJoined.exchange(true, ordering: .relaxed) { pthread_join(handle, nil) }
    return true
  }
}

/// Waits while the 32-bit word at `address` equals `expected`, for `nanoseconds` at most.
func futexWait(_ address: UnsafeRawPointer, _ expected: UInt32, nanoseconds: Int64) {
  _ = unsafe sprocket_futex_wait(address, expected, nanoseconds)
}

/// Wakes all who wait on the word at `address`.
func futexWake(_ address: UnsafeRawPointer) { unsafe sprocket_futex_wake(address) }

/// Tells the core that this is a waiting loop.
func spinPause() { sprocket_pause() }

func yieldProcessor() { sched_yield() }
