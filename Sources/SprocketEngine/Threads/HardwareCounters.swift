internal import CSprocketSystem
internal import Glibc
package import SprocketCore

/// What a processor counts while threads run: of the thread that makes this and of all that it starts after
/// that, outside of the kernel. See perf_event_open(2).
package final class HardwareCounters: Sendable {
  package struct Event: Sendable {
    let type: UInt32
    let config: UInt64

    package static let instructions = Event(
      type: PERF_TYPE_HARDWARE.rawValue, config: UInt64(PERF_COUNT_HW_INSTRUCTIONS.rawValue))
    package static let cycles = Event(
      type: PERF_TYPE_HARDWARE.rawValue, config: UInt64(PERF_COUNT_HW_CPU_CYCLES.rawValue))
    /// Misses of the last level of cache.
    package static let cacheMisses = Event(
      type: PERF_TYPE_HARDWARE.rawValue, config: UInt64(PERF_COUNT_HW_CACHE_MISSES.rawValue))
    /// CPU time in nanoseconds, which the kernel counts itself: for tests.
    package static let taskClock = Event(
      type: PERF_TYPE_SOFTWARE.rawValue, config: UInt64(PERF_COUNT_SW_TASK_CLOCK.rawValue))
  }

  private let descriptors: [Int32]

  /// Throws where the kernel does not count one of the events, or not for this user.
  package init(_ events: [Event]) throws(RunError) {
    var opened: [Int32] = []
    for event in events {
      let result = sprocket_open_counter(event.type, event.config)
      guard result >= 0 else {
        for descriptor in opened { close(descriptor) }
        throw Self.refusal(-result)
      }
      opened.append(result)
    }
    descriptors = opened
  }

  deinit { for descriptor in descriptors { close(descriptor) } }

  private static func refusal(_ code: Int32) -> RunError {
    let reason =
      switch code {
      case EACCES, EPERM:
        "this user may not; let root write 2 or less to /proc/sys/kernel/perf_event_paranoid"
      case ENOENT, EOPNOTSUPP, ENODEV: "this machine has no such counters, as most virtual ones"
      case ENOSYS: "this kernel has no perf_event_open"
      default: unsafe String(cString: strerror(code))
      }
    return RunError(.failed, "instructions and cache misses are not counted: \(reason)")
  }

  /// The events so far, in their order; `nil` if one cannot be read. Where the processor has too few counters
  /// and they take turns, the value is what would have been counted all the time.
  package func read() -> [Double]? {
    var counts: [Double] = []
    for descriptor in descriptors {
      var values: [UInt64] = [0, 0, 0]
      guard unsafe sprocket_read_counter(descriptor, &values) == 0 else { return nil }
      let share = values[2] == 0 ? 1 : Double(values[1]) / Double(values[2])
      counts.append(Double(values[0]) * share)
    }
    return counts
  }
}

/// Binds the calling thread, and all that it starts after that, to some cores.
package func pinThreads(to cores: [Int32]) throws(RunError) {
  let result = unsafe sprocket_pin(cores, Int32(cores.count))
  guard result == 0 else {
    let list = cores.map(String.init).joined(separator: ",")
    throw RunError(
      .usage,
      "no thread can run on the cores \(list) (\(unsafe String(cString: strerror(-result)))); "
        + "`nproc --all` tells how many there are, counted from 0")
  }
}

/// Forgets the peak of resident memory (`VmHWM` in /proc/self/status), which then begins anew. False where
/// the kernel does not allow it; see proc(5), clear_refs.
package func forgetPeakMemory() -> Bool {
  let descriptor = unsafe open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  return unsafe write(descriptor, "5", 1) == 1
}

/// The number by which the kernel knows the calling thread.
func threadNumber() -> Int32 { sprocket_thread_id() }
