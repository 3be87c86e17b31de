internal import Synchronization

/// Tells a source that is working on its own thread to end. It can be set from any thread, and stays set.
package final class SourceInterrupt: Sendable {
  private let flag = Atomic<Bool>(false)

  package init() {}

  package var isSet: Bool { flag.load(ordering: .relaxed) }

  package func set() { flag.store(true, ordering: .relaxed) }
}

extension SourceInterrupt {
  /// Longest time between two checks of the interrupt while a source waits, in nanoseconds. Larger: a run
  /// ends later.
  package static let attention: Int64 = 20_000_000

  /// Waits until `due` on the monotonic clock, at most `timeout` nanoseconds, and returns early if this is
  /// set. Returns true if `due` has been reached.
  package func wait(until due: Int64, timeout: Int64) -> Bool {
    let limit = monotonicNow().clampedSum(timeout)
    while true {
      let now = monotonicNow()
      if now >= due { return true }
      if now >= limit || isSet { return false }
      sleep(until: min(due, limit, now + Self.attention))
    }
  }
}
