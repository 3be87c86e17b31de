internal import SprocketCore
internal import SprocketV4L2

/// Decides what a driver's timestamp is worth. Pure.
///
/// A stamp that the driver says is monotonic is taken as it is. One of an unknown clock, or copied from
/// whoever fed the device (v4l2loopback), is taken for monotonic if the stream's first one lies within a
/// second of the moment that it was taken from the driver, which no other clock does; else frames get
/// that moment itself, and no capture point. So does a single stamp that cannot be: more than ten seconds
/// in the future, or over an hour old.
struct CameraClock: Sendable {
  static let second: Int64 = 1_000_000_000
  static let future = 10 * second
  static let past = 3600 * second

  /// Whether unnamed clocks are monotonic; `nil` before the first frame.
  private var trustsUnnamed: Bool?
  /// Frames whose stamp was not used.
  private(set) var replaced: UInt64 = 0

  /// When a frame that was dequeued at `now` was captured.
  mutating func stamp(_ frame: V4L2Frame, now: Int64) -> (captured: Timestamp, point: CapturePoint)
  {
    let isTrusted = frame.isMonotonic || trusts(frame.nanoseconds, now: now)
    guard isTrusted, frame.nanoseconds <= now + Self.future, frame.nanoseconds >= now - Self.past
    else {
      replaced += 1
      return (Timestamp(nanoseconds: now, clock: .monotonic), .unknown)
    }
    let point: CapturePoint =
      !frame.isMonotonic ? .unknown : frame.isStampedAtStart ? .startOfExposure : .endOfFrame
    return (Timestamp(nanoseconds: frame.nanoseconds, clock: .monotonic), point)
  }

  private mutating func trusts(_ stamp: Int64, now: Int64) -> Bool {
    if let trustsUnnamed { return trustsUnnamed }
    let isNear = (now - Self.second...now + Self.second).contains(stamp)
    trustsUnnamed = isNear
    return isNear
  }
}
