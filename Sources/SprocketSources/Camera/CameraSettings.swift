public import SprocketCore

/// What a user may choose about a camera.
public struct CameraSettings: SourceSettings {
  /// Its identity, port, number, node, or a part of its name; empty for the first one.
  public var name = ""
  public var conversion = false
  public var fourcc = ""
  public var export = false
  public var startup = 0
  public var buffers = 8
  public var timeout = Duration.seconds(10)
  /// `nil`: zero, unless a run that records says otherwise.
  public var replug: Duration?
  var usedReplug: Duration { replug ?? .zero }
  /// The file of a ``ControlProfile`` that is restored before the first frame; empty for none.
  public var controls = InputName("")
  /// `nil` leaves it as it is: `interactive`.
  public var priority: DevicePriority?
  /// Part of the sensor that becomes the picture, in its pixels; `nil` leaves it as it is.
  public var sensorcrop: PixelArea?
  public var exposureDelay = PictureDelay.measured
  public var gainDelay = PictureDelay.measured
  public var lensDelay = PictureDelay.measured
  /// The longest that `replug` can be.
  public static let longestReplug = Duration.seconds(86_400)
  /// A rate that was asked for is taken where the driver can set it: others, such as v4l2loopback, have the
  /// rate of whatever feeds them.
  package var isRateWish = false
  var wanted = FormatRequest()

  public init() {}

  public static var settings: [Setting<CameraSettings>] {
    [
      Setting(
        "name", \.name, "as `devices` lists it, its node or a part of its name; empty: the first"),
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
        "a camera that was unplugged is waited for so long; auto: where recordings need it"),
      Setting(
        "controls", \.controls,
        "a file of controls, as `devices NAME --save` makes it, that are set at the start"),
      Setting(
        "priority", \.priority,
        "whether other programs may change controls and format meanwhile: record bars them, background "
          + "lets them bar this run"),
      Setting(
        "sensorcrop", \.sensorcrop,
        "the part of the sensor, in its pixels, that becomes the picture; auto leaves it as it is, all is "
          + "the driver's default part"),
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

/// Whether other programs that have a device open may change its controls and format meanwhile: those with
/// the highest priority may (`VIDIOC_S_PRIORITY`).
public enum DevicePriority: String, Sendable, CaseIterable, SettingValue {
  /// Others may, and may bar this program.
  case background
  /// All may: what a driver starts with.
  case interactive
  /// Only programs that ask for the same.
  case record
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
  public static var forms: [SettingForm] { [.number(isWhole: true), .words(["auto"])] }
}
