internal import Glibc
package import SprocketCore
internal import Synchronization

/// The time on the wall at which frames were captured.
///
/// Both clocks run at one rate, which the system adjusts for both; their difference changes only where the
/// wall's is set. So it is kept, and measured again for each still: a difference of less than `tolerance` is
/// that of two readings and is not taken over. Names and EXIF of one frame then have the same time.
package final class WallClock: Sendable {
  /// 10 ms. Larger: smaller corrections of the system's time are not followed.
  private static let tolerance: Int64 = 10_000_000

  package static let shared = WallClock()
  private let difference: Atomic<Int64>

  private init() { difference = Atomic(wallClockNow() - monotonicNow()) }

  /// Nanoseconds since 1970; `nil` for times that are on no clock of this machine.
  package func time(of captured: Timestamp) -> Int64? {
    guard captured.clock == .monotonic else { return nil }
    let measured = wallClockNow() - monotonicNow()
    let kept = difference.load(ordering: .relaxed)
    guard abs(measured - kept) >= Self.tolerance else { return captured.nanoseconds + kept }
    difference.store(measured, ordering: .relaxed)
    return captured.nanoseconds + measured
  }
}

/// Date and time of day in the system's time zone.
package struct CalendarTime: Equatable, Sendable {
  package let year, month, day, hour, minute, second: Int
  /// Of a second.
  package let nanosecond: Int
  /// East of Greenwich, in minutes.
  package let offset: Int

  /// The corresponding C function is `localtime_r`.
  package init(nanoseconds: Int64) {
    let billion: Int64 = 1_000_000_000
    var seconds = nanoseconds / billion
    var rest = nanoseconds % billion
    if rest < 0 { (seconds, rest) = (seconds - 1, rest + billion) }
    var time = time_t(seconds)
    let parts = unsafe Self.local(&time)
    (year, month, day) = unsafe (
      Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)
    )
    (hour, minute, second) = unsafe (Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
    nanosecond = Int(rest)
    offset = unsafe Int(parts.tm_gmtoff) / 60
  }

  private static func local(_ time: inout time_t) -> tm {
    var parts = unsafe tm()
    unsafe localtime_r(&time, &parts)
    return unsafe parts
  }
}

extension ASCIIText {
  /// `2026:11:25 12:30:48`, as EXIF has it.
  package mutating func appendDate(_ time: CalendarTime) {
    append(UInt64(max(0, time.year)), digits: 4)
    appendPair(":", time.month)
    appendPair(":", time.day)
    appendPair(" ", time.hour)
    appendPair(":", time.minute)
    appendPair(":", time.second)
  }

  /// `+01:00`.
  package mutating func appendOffset(_ time: CalendarTime) {
    appendPair(time.offset < 0 ? "-" : "+", abs(time.offset) / 60)
    appendPair(":", abs(time.offset) % 60)
  }

  private mutating func appendPair(_ start: StaticString, _ number: Int) {
    append(start)
    append(UInt64(number), digits: 2)
  }
}
