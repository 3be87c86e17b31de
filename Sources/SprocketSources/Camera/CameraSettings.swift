public import SprocketCore

/// What a user may choose about a camera.
public struct CameraSettings: SourceSettings {
  public var conversion = false
  public var fourcc = ""
  public var export = false
  public var startup = 0
  public var buffers = 8
  public var timeout = Duration.seconds(10)
  public var replug = Duration.zero
  /// The longest that `replug` can be.
  public static let longestReplug = Duration.seconds(86_400)
  var wanted = FormatRequest()

  public init() {}

  public static var settings: [Setting<CameraSettings>] {
    [
      Setting(
        "conversion", \.conversion, "lets libv4l2 make formats that the camera does not have"),
      Setting(
        "fourcc", \.fourcc,
        "V4L2's code of the format, where the camera has several of the same pixels"),
      Setting(
        "export", \.export,
        "raw frames that are lent lie in memory that other devices can use, too (DMABUF)"),
      Setting(
        "startup", \.startup, range: 0...1_000_000, unit: "frames", "marked as not to be used"),
      Setting(
        "buffers", \.buffers, range: 2...32, unit: "frames",
        "asked of the driver; all but three can be lent"),
      Setting(
        "timeout", \.timeout, range: .milliseconds(100)...Duration.seconds(3600),
        "without a frame for so long the run fails, or the camera counts as unplugged"),
      Setting(
        "replug", \.replug, range: .zero...Self.longestReplug,
        "a camera that was unplugged is waited for so long"),
    ]
  }

  // What --format, --size and --rate ask for is negotiated when the camera is open.
  public mutating func request(_ request: FormatRequest) throws(RunError) {
    wanted = request
  }
}
