public import SprocketCore

/// What a user may choose of a virtual camera.
public struct VirtualSettings: KindSettings {
  /// `nil`: the one that keeps the pictures' samples, where the device takes it.
  public var format: PixelFormat?

  public init() {}

  public static var settings: [Setting<Self>] {
    [
      Setting(
        "format", \.format,
        "pixel format that other programs see; auto: the one that keeps most; MJPG: a camera's own JPEGs"
      )
    ]
  }
}

extension VirtualSink {
  public static let kind = SinkKind(
    "virtual", "a camera for other programs, by v4l2loopback", argument: "DEVICE",
    VirtualSettings.self
  ) { (path, settings, _) throws(RunError) in
    VirtualSink(path: path, settings)
  }
}
