internal import SprocketCore

/// Picks the first frame at or after each multiple of an interval, counted from the first frame.
final class IntervalSelector: FrameSelector {
  private let interval: UInt64
  private var origin: Int64?
  /// The multiple that the last frame picked stands for.
  private var last: UInt64 = 0

  init(_ interval: Duration) { self.interval = UInt64(max(1, interval.nanosecondCount)) }

  func selects(_ frame: borrowing FrameView) -> Bool {
    selects(at: frame.record.captured.nanoseconds)
  }

  /// `time` in nanoseconds. A clock that goes back, as after a replug, begins anew.
  func selects(at time: Int64) -> Bool {
    // Also a difference that no signed number holds.
    let multiple = origin.map { UInt64(bitPattern: time &- $0) / interval }
    guard let start = origin, let multiple, time >= start, multiple >= last else {
      (origin, last) = (time, 0)
      return true
    }
    guard multiple > last else { return false }
    last = multiple
    return true
  }
}
