internal import SprocketCore
internal import SprocketV4L2

/// Decides what a driver's timestamp is worth. Pure.
///
/// A stamp that the driver says is monotonic is taken as it is. One of an unknown clock, or copied from
/// whoever fed the device (v4l2loopback), is taken for monotonic if the stream's first one lies within a
/// second of the moment that it was taken from the driver, which no other clock does; else frames get
/// that moment itself, and no capture point. A single stamp that cannot be (more than ten seconds in the
/// future, over an hour old, or before the one before, as when a driver's clock wraps) is replaced by the
/// moment of arrival, less the time that the frame before took from capture to arrival. Times go back only
/// after a stamp that lay in the future, and no epoch begins.
struct CameraClock: Sendable {
  static let second: Int64 = 1_000_000_000
  static let future = 10 * second
  static let past = 3600 * second

  /// Whether unnamed clocks are monotonic; `nil` before the first frame.
  private var trustsUnnamed: Bool?
  /// Frames whose stamp was not used.
  private(set) var replaced: UInt64 = 0
  /// What was said of the last frame, and the driver's last stamp that was taken; neither in the future.
  private var last = Int64.min
  private var lastStamp = Int64.min
  /// From that stamp to the frame's arrival.
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
    // A stamp in the future must not make the correct ones after it look late.
    lastStamp = min(frame.nanoseconds, now)
    lag = now - lastStamp
    last = max(lastStamp, last)
    let time = max(frame.nanoseconds, last)
    let point: CapturePoint =
      !frame.isMonotonic ? .unknown : frame.isStampedAtStart ? .startOfExposure : .endOfFrame
    return (Timestamp(nanoseconds: time, clock: .monotonic), point)
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
