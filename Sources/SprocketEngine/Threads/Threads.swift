// Threads of the operating system. No other file uses them.

internal import CSprocketSystem
internal import Glibc
internal import SprocketCore
internal import Synchronization

/// The monotonic clock in so many nanoseconds; what would lie beyond its end is its end.
package func deadline(in nanoseconds: Int64) -> Int64 {
  deadline(nanoseconds, after: monotonicNow())
}

func deadline(_ nanoseconds: Int64, after time: Int64) -> Int64 {
  let (sum, isBeyond) = time.addingReportingOverflow(nanoseconds)
  return isBeyond ? .max : sum
}

/// Number of times that threads of this process were preempted.
package func involuntarySwitches() -> Int {
  var usage = rusage()
  unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  return usage.ru_nivcsw
}

/// How many threads can run at once.
public func processorCount() -> Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

/// A 32-bit word that threads may wait on.
///
/// Unchecked: the memory holds an atomic, made before any thread knows it and freed after all of them.
@safe
package final class FutexWord: @unchecked Sendable {
  private let memory: UnsafeMutablePointer<Atomic<UInt32>>

  package init() {
    unsafe memory = .allocate(capacity: 1)
    unsafe memory.initialize(to: Atomic(0))
  }

  deinit {
    unsafe memory.deinitialize(count: 1)
    unsafe memory.deallocate()
  }

  package var value: UInt32 { unsafe memory.pointee.load(ordering: .acquiring) }

  /// Exchanges `expected` for `new` and wakes all who wait. False if it was something else.
  func exchange(_ expected: UInt32, for new: UInt32) -> Bool {
    let isDone = unsafe memory.pointee.compareExchange(
      expected: expected, desired: new, ordering: .acquiringAndReleasing
    ).exchanged
    if isDone { unsafe futexWake(memory) }
    return isDone
  }

  /// Sets it and wakes all who wait.
  package func set(_ new: UInt32) {
    unsafe memory.pointee.store(new, ordering: .releasing)
    unsafe futexWake(memory)
  }

  /// Adds 1 and wakes all who wait.
  package func advance() {
    unsafe _ = memory.pointee.wrappingAdd(1, ordering: .acquiringAndReleasing)
    unsafe futexWake(memory)
  }

  /// Waits while it is `expected`, until `deadline` (monotonic). False if it still is.
  package func wait(while expected: UInt32, until deadline: Int64) -> Bool {
    while value == expected {
      let left = deadline.clampedDifference(monotonicNow())
      if left <= 0 { return false }
      unsafe futexWait(memory, expected, nanoseconds: left)
    }
    return true
  }
}

/// A thread of the engine: named, joined with a bound.
final class EngineThread: Sendable {
  /// Bytes of address space for each thread's stack; pages that are not touched cost no memory. More
  /// lets libraries recurse deeper, and counts against `ulimit -v`. The engine's threads use up to
  /// 30 kB of it in release builds; libavcodec's and libturbojpeg's largest frames on a stack are some
  /// 100 kB, and debug and sanitizer builds take several times that. Set, because the system's default
  /// follows `ulimit -s`: from some kB to "unlimited".
  static let stackBytes = 4 << 20

  /// Tests put the names of threads here that shall not start, as at a limit of the system: any, or those
  /// that one thread makes, since every run has threads of some names.
  static let refused = Locked<[String: pthread_t?]>([:])

  let name: String
  private let handle: pthread_t
  private let state: State
  private let isJoined = Atomic<Bool>(false)

  /// Unchecked: the body is the thread's alone, and `used` is written before `done` is.
  private final class State: @unchecked Sendable {
    /// `nil` once the thread has started: the closure may retain the object that owns this thread.
    var body: (@Sendable () -> Void)?
    /// CPU time of the whole thread, in nanoseconds.
    var used: Int64 = 0
    /// 1 once the body has returned.
    let done = FutexWord()

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Starts `body`. The kernel shows the first 15 bytes of `name`. Signals go to other threads.
  init(_ name: String, _ body: @escaping @Sendable () -> Void) throws(RunError) {
    let state = State {
      unsafe sprocket_name_thread(name)
      body()
    }
    var handle = pthread_t()
    let result =
      if let maker = Self.refused.withLock({ $0[name] }), maker == nil || maker == pthread_self() {
        EAGAIN
      } else if SystemMemory.addressSpaceLeft() < Self.stackBytes {
        ENOMEM
      } else {
        unsafe Self.create(&handle, Unmanaged.passRetained(state).toOpaque())
      }
    guard result == 0 else {
      throw RunError(
        .failed,
        "the system starts no thread for `\(name)` (\(unsafe String(cString: strerror(result)))): "
          + "raise its limit on processes or memory (ulimit -u, ulimit -v, a container's pids limit), "
          + "or use fewer workers", change: .workers)
    }
    self.name = name
    self.state = state
    self.handle = handle
  }

  /// Starts a thread that runs `state` and then releases it. Releases it at once if no thread can be started.
  private static func create(_ handle: inout pthread_t, _ state: UnsafeMutableRawPointer) -> Int32 {
    var attributes = pthread_attr_t()
    var result = unsafe pthread_attr_init(&attributes)
    guard result == 0 else {
      unsafe Unmanaged<State>.fromOpaque(state).release()
      return result
    }
    unsafe pthread_attr_setstacksize(&attributes, stackBytes)
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    // Signals that Swift's run-time library handles: those of a crash, and the one that it sends to stop all
    // threads while it prints the backtrace. If they are blocked, the program ends by SIGSEGV and the helper
    // process stays.
    for signal in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, SIGUSR1] {
      unsafe sigdelset(&all, signal)
    }
    unsafe pthread_sigmask(SIG_BLOCK, &all, &before)
    result = unsafe pthread_create(
      &handle, &attributes,
      { argument in
        unsafe sprocket_with_signal_stack(
          { argument in
            guard let argument = unsafe argument else { return }
            let state = unsafe Unmanaged<State>.fromOpaque(argument).takeRetainedValue()
            state.body.take()?()
            state.used = threadCPUTime()
            state.done.set(1)
          }, argument)
        return nil
      }, state)
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    unsafe pthread_attr_destroy(&attributes)
    if result != 0 { unsafe Unmanaged<State>.fromOpaque(state).release() }
    return result
  }

  deinit {
    if !isJoined.load(ordering: .relaxed) { pthread_detach(handle) }
  }

  /// True once the body has returned.
  var isDone: Bool { state.done.value == 1 }

  /// CPU time that it has used so far. Not to be asked while another thread joins it.
  var cpuTime: Int64 {
    if isDone { return state.used }
    var clock = clockid_t()
    guard unsafe pthread_getcpuclockid(handle, &clock) == 0 else { return 0 }
    return time(of: clock)
  }

  /// Waits for the body to return, until `deadline` (monotonic). False if it has not by then.
  /// For one thread at a time.
  func join(until deadline: Int64) -> Bool {
    guard state.done.wait(while: 0, until: deadline) else { return false }
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

/// Keeps the memory of this process in small pages.
///
/// libx264 asks for huge pages (2 MB), and a kernel may give them to all. The kernel fills what is left of
/// them in the background, up to some minutes later: a recording of 1080p grew by 7 MB in ten minutes, and
/// its encoder took 17 to 33 MB more. Encoding and stages are no slower without (`Benchmarks/Results`,
/// 2026-11-26).
package func refuseHugePages() { sprocket_refuse_huge_pages() }

/// Makes all threads share one heap if `ulimit -v` bounds the address space: the C library gives each thread
/// a heap of its own otherwise, 64 MB of address space each. Threads then wait for each other when they
/// allocate; the engine's threads do not allocate per frame. Changes the whole process: call it at the start
/// of a program.
package func shareHeapIfLimited() {
  if SystemMemory.addressSpaceLimit() != nil { sprocket_share_heap() }
}
