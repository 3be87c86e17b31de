public import SprocketCore

/// What stabilization does to a frame.
public struct StabilizeReport: FrameReport {
  /// Where a point of the sensor's picture, at the pixel coordinates (x, y), lies in the stabilized one:
  ///
  ///     [x']   [m0 m1 m2] [x]
  ///     [y'] = [m3 m4 m5] [y]
  ///     [1 ]   [m6 m7 m8] [1]
  ///
  /// Both in pixels of pictures of one size; (0, 0) is the middle of the top left pixel, as for
  /// `cv2.warpAffine`. The inverse carries results found in the stabilized picture back.
  public var stabilizedFromSensor = MatrixValues(repeating: 0)
  /// Where the camera looked: the sum of the shifts to the right since the latest start, in pixels of the
  /// full picture.
  public var pathX = 0.0
  /// The sum of the shifts downwards since the latest start, in pixels of the full picture.
  public var pathY = 0.0
  /// The sum of the rolls since the latest start, in degrees, clockwise as seen.
  public var pathRoll = 0.0
  /// Where the camera seems to look in the stabilized picture, in the unit of `pathX`.
  public var smoothX = 0.0
  /// Where the camera seems to look in the stabilized picture, in the unit of `pathY`.
  public var smoothY = 0.0
  /// How the camera seems to be turned in the stabilized picture, in degrees.
  public var smoothRoll = 0.0
  /// Unused part of the crop margin, 0 to 1, on the axis with the least: 1 in the middle without roll, 0 at
  /// the sensor's edge.
  public var cropLeft = 1.0
  /// What steadies the picture: never `auto`.
  public var mode = Stabilizer.Mode.off

  public init() {}

  public static var fields: [ReportField<Self>] {
    [
      ReportField("stabilized_from_sensor", \.stabilizedFromSensor),
      ReportField("path_x", unit: "px", \.pathX),
      ReportField("path_y", unit: "px", \.pathY),
      ReportField("path_roll", unit: "degree", \.pathRoll),
      ReportField("smooth_x", unit: "px", \.smoothX),
      ReportField("smooth_y", unit: "px", \.smoothY),
      ReportField("smooth_roll", unit: "degree", \.smoothRoll),
      ReportField("crop_left", unit: "fraction", \.cropLeft),
      ReportField("mode", \.mode),
    ]
  }

  /// Stores `similarity` for pictures of that size.
  mutating func set(stabilizedFromSensor similarity: Similarity, width: Int, height: Int) {
    let (middleX, middleY) = (Double(width - 1) / 2, Double(height - 1) / 2)
    let (x, y) = similarity.apply(-middleX, -middleY)
    stabilizedFromSensor = [
      similarity.a, -similarity.b, x + middleX, similarity.b, similarity.a, y + middleY, 0, 0, 1,
    ]
  }

  /// What was stored, for pictures of that size.
  func similarity(width: Int, height: Int) -> Similarity {
    let (middleX, middleY) = (Double(width - 1) / 2, Double(height - 1) / 2)
    var result = Similarity()
    result.a = stabilizedFromSensor[0]
    result.b = stabilizedFromSensor[3]
    let (x, y) = result.apply(middleX, middleY)
    result.shiftX = x + stabilizedFromSensor[2] - middleX
    result.shiftY = y + stabilizedFromSensor[5] - middleY
    return result
  }
}
