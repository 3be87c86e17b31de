/// How bright a frame is, as the stage `meter` says it and exposure controllers read it.
public struct ExposureReport: FrameReport {
  /// Mean luma, level 0 to 255.
  public var mean = 0.0
  /// Share of pixels at level 254 or 255, 0 to 1.
  public var clipped = 0.0
  /// Share of pixels at level 0 or 1, 0 to 1.
  public var crushed = 0.0
  /// Weighted mean of log2 luminance, in EV: 0 is full scale, -1 half the light.
  public var logLuminance = 0.0
  /// By how much the frame is brighter than its target, in EV: the right exposure is this one divided
  /// by 2^offset.
  public var offset = 0.0
  /// Pixels per level.
  public var histogram = LevelCounts(repeating: 0)

  public init() {}

  public static var fields: [ReportField<Self>] {
    [
      ReportField("mean", unit: "level", \.mean),
      ReportField("clipped", unit: "fraction", \.clipped),
      ReportField("crushed", unit: "fraction", \.crushed),
      ReportField("log_luminance", unit: "EV", \.logLuminance),
      ReportField("offset", unit: "EV", \.offset),
      ReportField("histogram", unit: "pixels", \.histogram),
    ]
  }
}
