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
  // The kernel takes a list in which one core is there, and passes over the others.
  let allowed = allowedCores()
  let others = allowed.isEmpty ? [] : cores.filter { !allowed.contains($0) }
  guard others.isEmpty else {
    throw RunError(
      .usage,
      "no thread of this program can run on the cores \(coreText(others)); give some of "
        + coreText(allowed))
  }
  let result = unsafe sprocket_pin(cores, Int32(cores.count))
  guard result == 0 else {
    throw RunError(
      .failed,
      "threads cannot be bound to the cores \(coreText(cores)) "
        + "(\(unsafe String(cString: strerror(-result)))); leave them out")
  }
}

/// The cores on which this program may run, by `Cpus_allowed_list` of /proc/self/status; none if the kernel
/// does not tell.
private func allowedCores() -> [Int32] {
  let line = kernelText("/proc/self/status")?.split(separator: "\n").first {
    $0.hasPrefix("Cpus_allowed_list:")
  }
  let ranges = line?.split(whereSeparator: \.isWhitespace).last?.split(separator: ",") ?? []
  return ranges.flatMap { range -> [Int32] in
    let ends = range.split(separator: "-").compactMap { Int32($0) }
    guard let first = ends.first, let last = ends.last, first <= last else { return [] }
    return Array(first...last)
  }
}

/// Numbers of cores, in rising order, as text: `0-3,7`.
package func coreText(_ cores: [Int32]) -> String {
  var ranges: [ClosedRange<Int32>] = []
  for core in cores {
    if let last = ranges.last, last.upperBound + 1 == core {
      ranges[ranges.count - 1] = last.lowerBound...core
    } else {
      ranges.append(core...core)
    }
  }
  return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
    .joined(separator: ",")
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
