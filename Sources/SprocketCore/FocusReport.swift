/// How sharp a frame is, as the stage `focus` says it and focus controllers read it.
public struct FocusReport: FrameReport {
  /// The measure that was chosen, over the whole window. It rises with sharpness.
  ///
  /// The default one has no unit, is 0 where there is nothing but noise, and about 0.1 on the
  /// sharpest of photographs; exposure and noise do not move it.
  public var score = 0.0
  /// Whether there is anything to focus on, 0 to 1: the standard deviation of luma within 12 pixels,
  /// noise excepted, as a share of itself and the mean. It changes little with focus, and not with
  /// exposure; below 0.02 there is nothing but a wall.
  public var contrast = 0.0
  /// Standard deviation of the noise, in levels.
  public var noise = 0.0
  /// The score in each of 4x4 cells of the window, row by row.
  public var grid = GridValues(repeating: 0)

  public init() {}

  public static var fields: [ReportField<Self>] {
    [
      ReportField("score", \.score),
      ReportField("contrast", unit: "fraction", \.contrast),
      ReportField("noise", unit: "level", \.noise),
      ReportField("grid", \.grid),
    ]
  }
}
