internal import SprocketCore
internal import SprocketV4L2

/// Converts a driver's timestamps to capture times. Pure: the caller gives the time of arrival.
///
/// - A stamp that the driver marks as monotonic is used as it is.
/// - A stamp of an unknown clock, or one copied from the program that feeds the device
///   (v4l2loopback), is used if the stream's first stamp lies within a second of its arrival: no
///   other clock does. Otherwise frames get the time of arrival, and no capture point.
/// - A single impossible stamp is replaced by the time of arrival, less the delay from capture to
///   arrival of the last frame with a valid stamp. A stamp is impossible if it lies more than ten
///   seconds in the future or over an hour in the past, or before the last valid one, as when a
///   driver's clock wraps.
///
/// Times go back only after a stamp that lay in the future. No epoch begins.
struct CameraClock: Sendable {
  static let second: Int64 = 1_000_000_000
  /// Nanoseconds by which a stamp may lie in the future or the past. Larger: wrong stamps are believed, and
  /// slow or suspended machines cause fewer replaced ones.
  static let future = 10 * second
  static let past = 3600 * second

  /// Whether unnamed clocks are monotonic; `nil` before the first frame.
  private var trustsUnnamed: Bool?
  /// Frames whose stamp was not used.
  private(set) var replaced: UInt64 = 0
  /// The last capture time and the last valid stamp. One that lies in the future counts as the time
  /// of arrival.
  private var last = Int64.min
  private var lastStamp = Int64.min
  /// Nanoseconds from `lastStamp` to the arrival of its frame.
  private var lag: Int64 = 0

  /// When a frame that was dequeued at `now` was captured.
  mutating func stamp(_ frame: V4L2Frame, now: Int64) -> (captured: Timestamp, point: CapturePoint)
  {
    let isTrusted = frame.isMonotonic || trusts(frame.nanoseconds, now: now)
    guard isTrusted, frame.nanoseconds <= now + Self.future, frame.nanoseconds >= now - Self.past,
      frame.nanoseconds >= lastStamp
    else {
      replaced += 1
      last = max(now - lag, last)
      return (Timestamp(nanoseconds: last, clock: .monotonic), .unknown)
    }
    // Limited to `now`: otherwise, after a stamp in the future, the correct ones would be rejected
    // as earlier.
    lastStamp = min(frame.nanoseconds, now)
    lag = now - lastStamp
    last = max(lastStamp, last)
    let time = max(frame.nanoseconds, last)
    let point: CapturePoint =
      !frame.isMonotonic ? .unknown : frame.isStampedAtStart ? .startOfExposure : .endOfFrame
    return (Timestamp(nanoseconds: time, clock: .monotonic), point)
  }

  /// The stream begins anew: its stamps may be those of another clock.
  mutating func restart() {
    trustsUnnamed = nil
    lastStamp = .min
    lag = 0
  }

  /// What the user should know at the end.
  func note(_ title: String) -> String? {
    guard replaced > 0 else { return nil }
    let many = replaced == 1 ? "1 frame of \(title) has" : "\(replaced) frames of \(title) have"
    return "\(many) the time of arrival, for the driver's own cannot be right"
  }

  private mutating func trusts(_ stamp: Int64, now: Int64) -> Bool {
    if let trustsUnnamed { return trustsUnnamed }
    let isNear = (now - Self.second...now + Self.second).contains(stamp)
    trustsUnnamed = isNear
    return isNear
  }
}
