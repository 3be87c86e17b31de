internal import Glibc
internal import Synchronization

/// Converts capture times to the system's real-time clock (nanoseconds since 1970).
///
/// The monotonic and the real-time clock run at the same rate. Their difference changes only when the
/// real-time clock is set. `WallClock` keeps the difference and measures it again at each call. Changes below
/// `tolerance` are measurement noise and are ignored, so that the name and the EXIF of a frame agree.
package final class WallClock: Sendable {
  /// 10 ms. Larger: smaller corrections of the system's time are not followed.
  private static let tolerance: Int64 = 10_000_000

  package static let shared = WallClock()
  private let difference: Atomic<Int64>

  private init() { difference = Atomic(wallClockNow() - monotonicNow()) }

  /// Nanoseconds since 1970; `nil` for times that are not on this machine's monotonic clock.
  package func time(of captured: Timestamp) -> Int64? {
    captured.clock == .monotonic ? captured.nanoseconds.clampedSum(currentDifference()) : nil
  }

  /// The monotonic time of a date in nanoseconds since 1970.
  fileprivate func monotonicTime(of date: Int64) -> Int64 {
    date.clampedDifference(currentDifference())
  }

  private func currentDifference() -> Int64 {
    let measured = wallClockNow() - monotonicNow()
    let kept = difference.load(ordering: .relaxed)
    guard abs(measured - kept) >= Self.tolerance else { return kept }
    difference.store(measured, ordering: .relaxed)
    return measured
  }
}

extension Timestamp {
  /// The monotonic time of a date in nanoseconds since 1970 (UTC): for devices that stamp frames by the
  /// clock on the wall. Their clock and this machine's have to be set alike, as NTP and PTP do; the clock's
  /// setting moves later times. Costs two readings of clocks.
  public init(nanosecondsSince1970 date: Int64) {
    self.init(nanoseconds: WallClock.shared.monotonicTime(of: date), clock: .monotonic)
  }

  /// The date of this time in nanoseconds since 1970 (UTC), by the system's clock as it is set now; `nil`
  /// for times of files and recordings, which are on no clock of this machine. Costs two readings of clocks.
  public var nanosecondsSince1970: Int64? { WallClock.shared.time(of: self) }
}

/// Date and time of day.
package struct CalendarTime: Equatable, Sendable {
  package let year, month, day, hour, minute, second: Int
  /// 0 to 999,999,999.
  package let nanosecond: Int
  /// From UTC, in minutes; positive in the east.
  package let offset: Int

  /// In the system's time zone, or in UTC. `nanoseconds` are since 1970.
  /// The corresponding C functions are `localtime_r` and `gmtime_r`.
  package init(nanoseconds: Int64, inUTC: Bool = false) {
    let billion: Int64 = 1_000_000_000
    var seconds = nanoseconds / billion
    var rest = nanoseconds % billion
    if rest < 0 { (seconds, rest) = (seconds - 1, rest + billion) }
    var time = time_t(seconds)
    var parts = unsafe tm()
    _ = unsafe inUTC ? gmtime_r(&time, &parts) : localtime_r(&time, &parts)
    (year, month, day) = unsafe (
      Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)
    )
    (hour, minute, second) = unsafe (Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
    nanosecond = Int(rest)
    offset = unsafe Int(parts.tm_gmtoff) / 60
  }
}
