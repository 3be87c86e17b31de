internal import CSprocketV4L2

/// Who may change a device's format and controls while several programs have it open: those with the highest
/// priority that one of them has asked for. Others are refused with `EBUSY`.
public enum V4L2Priority: UInt32, Sendable, Comparable {
  /// Gives way to all others.
  case background = 1
  /// The usual one.
  case interactive = 2
  /// Nobody else may change anything.
  case record = 3

  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension V4L2Device {
  /// The highest priority that a program has for the device at the moment; `nil` if its driver has none.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_G_PRIORITY`.
  public func priority() -> V4L2Priority? {
    var found: UInt32 = 0
    guard request(SPROCKET_VIDIOC_G_PRIORITY, &found) else { return nil }
    return V4L2Priority(rawValue: found)
  }

  /// Asks for a priority, until the device is closed.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_S_PRIORITY`.
  public mutating func set(_ priority: V4L2Priority) throws(V4L2Error) {
    var wanted = priority.rawValue
    try demand(SPROCKET_VIDIOC_S_PRIORITY, &wanted, "VIDIOC_S_PRIORITY")
  }
}
