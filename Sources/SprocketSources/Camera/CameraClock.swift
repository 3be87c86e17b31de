internal import SprocketCore
internal import SprocketV4L2

/// Converts a driver's timestamps to capture times, by ``StampClock``. Pure: the caller gives the time of
/// arrival.
///
/// A stamp of an unnamed clock, or one copied from the program that feeds the device (v4l2loopback), counts
/// as monotonic if the stream's first stamp lies within a second of its arrival: no other clock does.
struct CameraClock: Sendable {
  private static let second: Int64 = 1_000_000_000

  /// Whether unnamed clocks are monotonic; `nil` before the first frame.
  private var trustsUnnamed: Bool?
  private var clock = StampClock()

  /// Frames whose stamp was not used as it was.
  var repaired: UInt64 { clock.repaired }
  /// Mean frame interval, nanoseconds; 0 before it is known.
  var interval: Int64 { clock.meanInterval }
  /// Mean distance of frame intervals from their mean, nanoseconds.
  var jitter: Int64 { clock.jitter }

  /// When a frame that was dequeued at `now` was captured.
  mutating func stamp(
    _ frame: V4L2Frame, sequence: UInt64, now: Int64
  ) -> (captured: Timestamp, point: CapturePoint) {
    let isMonotonic = frame.isMonotonic || trusts(frame.nanoseconds, now: now)
    let (time, isRepaired) = clock.time(
      of: StampClock.Stamp(frame.nanoseconds, isMonotonic: isMonotonic), sequence: sequence,
      arrival: now)
    let point: CapturePoint =
      isRepaired
      ? .estimated
      : !frame.isMonotonic ? .unknown : frame.isStampedAtStart ? .startOfExposure : .endOfFrame
    return (Timestamp(nanoseconds: time, clock: .monotonic), point)
  }

  /// The stream begins anew: its stamps may be those of another clock.
  mutating func restart() {
    trustsUnnamed = nil
    clock.restart()
  }

  /// What the user should know at the end.
  func note(_ title: String) -> String? {
    guard repaired > 0 else { return nil }
    let many = repaired == 1 ? "1 frame of \(title) has" : "\(repaired) frames of \(title) have"
    return "\(many) an estimated time, for the driver's own cannot be right"
  }

  /// What the user should know of a camera that gives fewer frames than it promised; `priority`: its
  /// control, set, that lets it.
  func rateNote(_ title: String, promised: FrameRate, priority: String?) -> String? {
    let period = promised.frameNanoseconds
    // Quarters less are cameras that expose for longer; less than that are their clocks.
    guard period > 0, Double(interval) > 1.25 * Double(period) else { return nil }
    let actual = (1e10 / Double(interval)).rounded() / 10
    let remedy =
      priority.map { ": in dim light it exposes for longer; --control \($0)=0 keeps the rate" }
      ?? ": light the scene, or set a shorter exposure"
    return "\(title) gives \(actual.settingText) frames/s of \(promised.text)" + remedy
  }

  private mutating func trusts(_ stamp: Int64, now: Int64) -> Bool {
    if let trustsUnnamed { return trustsUnnamed }
    let isNear = (now - Self.second...now + Self.second).contains(stamp)
    trustsUnnamed = isNear
    return isNear
  }
}
