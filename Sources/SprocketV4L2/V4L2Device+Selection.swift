internal import CSprocketV4L2

/// A rectangle in pixels, its corner at the top left.
public struct V4L2Rectangle: Hashable, Sendable {
  public var x: Int
  public var y: Int
  public var width: Int
  public var height: Int

  public init(x: Int, y: Int, width: Int, height: Int) {
    (self.x, self.y, self.width, self.height) = (x, y, width, height)
  }
}

/// The part of the sensor or of the input signal that becomes the picture ("Selection API" in the kernel's
/// documentation).
public enum V4L2CropTarget: Sendable {
  /// What is set.
  case active
  /// What a driver starts with: all that is worth to be seen.
  case usual
  /// What it can be at most.
  case bounds

  fileprivate var code: UInt32 {
    switch self {
    case .active: UInt32(V4L2_SEL_TGT_CROP)
    case .usual: UInt32(V4L2_SEL_TGT_CROP_DEFAULT)
    case .bounds: UInt32(V4L2_SEL_TGT_CROP_BOUNDS)
    }
  }
}

extension V4L2Device {
  /// A rectangle on the sensor or the input; `nil` if the device cannot crop.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_G_SELECTION`.
  public func crop(_ target: V4L2CropTarget) -> V4L2Rectangle? {
    var found = selection(target)
    guard request(SPROCKET_VIDIOC_G_SELECTION, &found) else { return nil }
    return V4L2Rectangle(found.r)
  }

  /// Sets the part that becomes the picture; returns what the driver made of it. Not while frames come.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_S_SELECTION`.
  public mutating func setCrop(_ area: V4L2Rectangle) throws(V4L2Error) -> V4L2Rectangle {
    var wanted = selection(.active)
    wanted.r = v4l2_rect(
      left: Int32(clamping: area.x), top: Int32(clamping: area.y),
      width: UInt32(clamping: area.width), height: UInt32(clamping: area.height))
    try demand(SPROCKET_VIDIOC_S_SELECTION, &wanted, "VIDIOC_S_SELECTION")
    return V4L2Rectangle(wanted.r)
  }

  private func selection(_ target: V4L2CropTarget) -> v4l2_selection {
    var selection = v4l2_selection()
    // By the kernel's documentation also for devices with several planes.
    selection.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    selection.target = target.code
    return selection
  }
}

extension V4L2Rectangle {
  fileprivate init(_ found: v4l2_rect) {
    self.init(
      x: Int(found.left), y: Int(found.top), width: Int(found.width), height: Int(found.height))
  }
}
