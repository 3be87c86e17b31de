public import SprocketCore

/// What a user may choose about a camera.
public struct CameraSettings: SourceSettings {
  public var conversion = false
  public var fourcc = ""
  public var startup = 0
  public var buffers = 8
  public var timeout = Duration.seconds(10)
  public var replug = Duration.zero
  public var exposureDelay = PictureDelay.measured
  public var gainDelay = PictureDelay.measured
  public var lensDelay = PictureDelay.measured
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
      Setting(
        "exposuredelay", \.exposureDelay, unit: "frames",
        "from the driver's answer until the picture shows an exposure; auto: as it was measured"),
      Setting("gaindelay", \.gainDelay, unit: "frames", "the same of gain"),
      Setting("lensdelay", \.lensDelay, unit: "frames", "the same of the lens"),
    ]
  }

  // What --format, --size and --rate ask for is negotiated when the camera is open.
  public mutating func request(_ request: FormatRequest) throws(RunError) {
    wanted = request
  }
}

/// Frames from a driver's answer until the picture shows a control's value.
public enum PictureDelay: SettingValue, Hashable {
  /// As this run, or an earlier one, measured it in the picture.
  case measured
  /// Never measured.
  case frames(Int)

  public init?(settingText text: String) {
    if text == "auto" {
      self = .measured
    } else if let frames = Int(text), 0...DelayFile.longest ~= frames {
      self = .frames(frames)
    } else {
      return nil
    }
  }

  public var settingText: String {
    switch self {
    case .measured: "auto"
    case .frames(let frames): "\(frames)"
    }
  }

  public static var allowed: String { "auto, or 0 to \(DelayFile.longest)" }
}
