/// How sharp a frame is, as the stage `focus` says it and focus controllers read it.
public struct FocusReport: FrameReport {
  /// The measure that was chosen, over the whole window. It rises with sharpness.
  ///
  /// The default one has no unit, is about 0 where there is nothing but white noise, and 0.01 to 0.3
  /// on sharp photographs; exposure and white noise move it little. Noise that was compressed as
  /// JPEG stays in it, the more the darker it is.
  public var score = 0.0
  /// How much of a picture there is, 0 to 1: the standard deviation of luma within 12 pixels, noise and
  /// a level excepted, as a share of itself and the mean; 0 where nothing is above the noise. Blur
  /// wider than that takes it away, and exposure changes it through the camera's curve: little
  /// contrast does not mean that there is nothing to focus on.
  public var contrast = 0.0
  /// Standard deviation of the noise, in levels of 0 to 255.
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
