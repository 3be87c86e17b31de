internal import Glibc
public import SprocketCore

/// How fast a source that could deliver everything at once does so.
public enum SourcePace: String, Sendable, CaseIterable, SettingValue {
  /// As fast as frames are taken; none is ever lost.
  case fast
  /// Each when it is due: the source is live, and what nobody takes in time is lost.
  case real
}

/// The monotonic clock, for sources at real pace.
enum SourceClock {
  /// Nanoseconds on CLOCK_MONOTONIC.
  static func now() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Sleeps until then, or until a signal comes.
  static func sleep(until nanoseconds: Int64) {
    var time = timespec(
      tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    unsafe _ = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil)
  }

  /// How long a source that waits does not look whether it was interrupted, in nanoseconds; longer
  /// delays the end of a run.
  static let attention: Int64 = 20_000_000

  /// Waits until `due`, but no more than `timeout` nanoseconds, and not when `interrupt` is set;
  /// returns whether it is time.
  static func wait(until due: Int64, timeout: Int64, _ interrupt: SourceInterrupt) -> Bool {
    let limit = now().clampedSum(timeout)
    while true {
      let now = now()
      if now >= due { return true }
      if now >= limit || interrupt.isSet { return false }
      sleep(until: min(due, limit, now + attention))
    }
  }
}

extension Int64 {
  /// The sum, or the number nearest to it that there is: files and settings may ask for any time.
  package func clampedSum(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}
