/// How sharp a frame is, as the stage `focus` says it and focus controllers read it.
public struct FocusReport: FrameReport {
  /// Variance of the Laplacian, in levels squared, 0 to 1,040,400.
  public var score = 0.0

  public init() {}

  public static var fields: [ReportField<Self>] {
    [ReportField("score", unit: "level^2", \.score)]
  }
}
