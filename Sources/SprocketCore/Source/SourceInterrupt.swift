internal import Synchronization

/// Asks a source that is at work on its own thread to come to an end. Set from any thread, for good.
package final class SourceInterrupt: Sendable {
  private let flag = Atomic<Bool>(false)

  package init() {}

  package var isSet: Bool { flag.load(ordering: .relaxed) }

  package func set() { flag.store(true, ordering: .relaxed) }
}

extension SourceInterrupt {
  /// How long a source that waits does not look whether it was interrupted, in nanoseconds; longer
  /// delays the end of a run.
  package static let attention: Int64 = 20_000_000

  /// Waits until `due` on the monotonic clock, but no more than `timeout` nanoseconds, and not when this
  /// is set; returns whether it is time.
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
