public import SprocketCore

/// Video stabilization: how the camera moved, how it should have moved, and the picture as it would
/// have seen it then.
public enum Stabilizer {
  public static let plugin = Plugin(
    "stabilize", "holds a shaking picture still",
    stages: [
      StageKind("estimate", MotionStage.self),
      StageKind("plan", PathStage.self),
      StageKind("warp", WarpStage.self),
    ])

  /// How much is done, and how much later frames come for it (`AVCaptureVideoStabilizationMode`).
  public enum Mode: String, SettingValue, CaseIterable, ReportWords {
    case off
    /// No look-ahead: a frame leaves as soon as it is warped.
    case standard
    /// Knows `lookahead` later frames, and delays each by as many.
    case cinematic
    /// `standard` for what is live, `cinematic` for what can wait; never what is active.
    case auto
  }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var mode = Mode.auto
    /// Share of the picture that may be cut off at each side, 0 to 0.25.
    public var crop = 0.05
    /// Later frames that mode `cinematic` knows, 1 to 60.
    public var lookahead = 15

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting(
          "mode", \.mode,
          "standard: no delay; cinematic: knows later frames; auto: as the source allows"),
        Setting(
          "crop", \.crop, range: 0...0.25,
          "of the picture that may be cut off at each side; never more, and the zoom is constant"
        ).live,
        Setting(
          "lookahead", \.lookahead, range: 1...60, unit: "frames",
          "known of the future in mode cinematic"),
      ]
    }
  }

  /// What is done when `preferred` is asked for (`activeVideoStabilizationMode`): never `auto`, and
  /// `off` where the picture is too small to be followed.
  public static func active(_ preferred: Mode, _ format: FrameFormat, isLive: Bool) -> Mode {
    let (shorter, longer) = (min(format.width, format.height), max(format.width, format.height))
    let divisor = MotionEstimator.scales(longerSide: longer)[0].divisor
    guard shorter >= leastSize * divisor else { return .off }
    return preferred == .auto ? (isLive ? .standard : .cinematic) : preferred
  }

  /// Shortest side, in pixels at the finest scale that is compared, of a picture whose motion is followed.
  /// Larger: more small pictures are left alone. Four patches of 16 pixels.
  static let leastSize = 64
}

extension StageChoice {
  /// Holds a shaking picture still: `StabilizeReport`.
  public static func stabilize(_ choose: (inout Stabilizer.Settings) -> Void = { _ in })
    -> StageChoice
  {
    StageChoice(Stabilizer.plugin, of: PathStage.self, choose)
  }
}
