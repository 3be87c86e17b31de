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
}
