/// How bright a frame is, as the stage `meter` says it and exposure controllers read it.
///
/// Luminance is linear light, in EV: log2 of it, 0 at full scale, -1 half the light.
public struct ExposureReport: FrameReport {
  /// Mean luma, level 0 to 255.
  public var mean = 0.0
  /// Share of pixels at level 254 or 255, 0 to 1.
  public var clipped = 0.0
  /// Share of pixels at level 0 or 1, 0 to 1.
  public var crushed = 0.0
  /// What the metering mode makes of the luminance, in EV.
  public var logLuminance = 0.0
  /// By how much that is brighter than the mode's target, in EV: the right exposure is this one
  /// divided by 2^offset.
  public var offset = 0.0
  /// The luminance, in EV, that 1 % of the pixels do not exceed.
  public var shadow = 0.0
  /// The luminance, in EV, that 99 % of the pixels do not exceed.
  public var highlight = 0.0
  /// Whether the scene is dark or bright by itself: 0.045, low key, to 0.72, high key; 0.18 between.
  public var key = 0.0
  /// How many pixels were metered.
  public var samples: UInt32 = 0
  /// Of these, pixels per level.
  public var histogram = LevelCounts(repeating: 0)

  public init() {}

  public static var fields: [ReportField<Self>] {
    [
      ReportField("mean", unit: "level", \.mean),
      ReportField("clipped", unit: "fraction", \.clipped),
      ReportField("crushed", unit: "fraction", \.crushed),
      ReportField("log_luminance", unit: "EV", \.logLuminance),
      ReportField("offset", unit: "EV", \.offset),
      ReportField("shadow", unit: "EV", \.shadow),
      ReportField("highlight", unit: "EV", \.highlight),
      ReportField("key", \.key),
      ReportField("samples", unit: "pixels", \.samples),
      ReportField("histogram", unit: "pixels", \.histogram),
    ]
  }
}
