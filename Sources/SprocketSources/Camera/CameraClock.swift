internal import SprocketCore
internal import SprocketV4L2

/// Converts a driver's timestamps to capture times, by ``StampClock``. Pure: the caller gives the time of
/// arrival.
///
/// A stamp of an unnamed clock, or one copied from the feeding program (v4l2loopback), counts as
/// monotonic if the stream's first stamp is within one second of its arrival. No other clock is.
struct CameraClock: Sendable {
  private static let second: Int64 = 1_000_000_000

  /// Whether unnamed clocks are monotonic; `nil` before the first frame.
  private var trustsUnnamed: Bool?
  private var clock = StampClock()

  /// Number of frames whose stamp was replaced.
  var repaired: UInt64 { clock.repaired }
  /// Mean frame interval, nanoseconds; 0 before it is known.
  var interval: Int64 { clock.meanInterval }
  /// Mean distance of frame intervals from their mean, nanoseconds.
  var jitter: Int64 { clock.jitter }

  /// Capture time of a frame that was dequeued at `now`.
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

  /// Starts a new stream, whose clock may be another one.
  mutating func restart() {
    trustsUnnamed = nil
    clock.restart()
  }

  /// Note about replaced stamps, for the end of the run.
  func note(_ title: String) -> String? {
    guard repaired > 0 else { return nil }
    let many = repaired == 1 ? "1 frame of \(title) has" : "\(repaired) frames of \(title) have"
    return "\(many) an estimated time, for the driver's own cannot be right"
  }

  /// Note about a camera that delivers fewer frames than promised. `priority` is the control that allows
  /// it; `hasExposure`: there is a control of the exposure.
  func rateNote(
    _ title: String, promised: FrameRate, priority: String?, hasExposure: Bool
  ) -> String? {
    let period = promised.frameNanoseconds
    // Longer exposures make intervals at least a quarter longer; smaller differences are clock errors.
    guard period > 0, Double(interval) > 1.25 * Double(period) else { return nil }
    let actual = (1e10 / Double(interval)).rounded() / 10
    let remedy =
      priority.map { ": in dim light it exposes for longer; the control \($0)=0 keeps the rate" }
      ?? (hasExposure
        ? ": light the scene, or set a shorter exposure"
        : ": its driver promises more than it gives")
    return "\(title) gives \(actual.settingText) frames/s of \(promised.text)" + remedy
  }

  private mutating func trusts(_ stamp: Int64, now: Int64) -> Bool {
    if let trustsUnnamed { return trustsUnnamed }
    let isNear = (now - Self.second...now + Self.second).contains(stamp)
    trustsUnnamed = isNear
    return isNear
  }
}
