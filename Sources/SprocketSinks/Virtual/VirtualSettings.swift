public import SprocketCore

/// What a user may choose of a virtual camera.
public struct VirtualSettings: KindSettings {
  /// The node of the device.
  public var device = OutputName()
  /// `nil`: the one that keeps the pictures' samples, where the device takes it.
  public var format: VirtualFormat?

  public init() {}

  public static var settings: [Setting<Self>] {
    [
      Setting("device", \.device, use: nil, "of v4l2loopback: /dev/video10"),
      Setting(
        "format", \.format,
        "pixel format that other programs see; auto: the one that keeps most; MJPG: a camera's own JPEGs"
      ),
    ]
  }
}

/// A pixel format of virtual cameras.
public enum VirtualFormat: String, SettingValue, CaseIterable {
  case yuyv = "YUYV"
  case uyvy = "UYVY"
  case i420 = "YU12"
  case yv12 = "YV12"
  case nv12 = "NV12"
  case rgb24 = "RGB3"
  case bgr24 = "BGR3"
  case grey = "GREY"
  case mjpeg = "MJPG"

  /// Also by the other names of `PixelFormat`.
  public init?(settingText text: String) {
    guard let pixels = PixelFormat(fourcc: text), let format = Self(rawValue: pixels.fourcc) else {
      return nil
    }
    self = format
  }

  var pixels: PixelFormat? { PixelFormat(fourcc: rawValue) }
}

extension VirtualSink {
  public static let kind = SinkKind(
    "virtual", "a camera for other programs, by v4l2loopback", argument: "device",
    VirtualSettings.self
  ) { (settings, request) throws(RunError) in
    request.naming(VirtualSink(path: settings.device.path, settings))
  }
}
