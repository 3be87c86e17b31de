public import SprocketCore

/// Measures how sharp a frame is: the variance of its Laplacian.
///
/// Source: J. L. Pech-Pacheco et al., "Diatom autofocusing in brightfield microscopy: a comparative
/// study", ICPR 2000; the score is what `cv2.Laplacian(luma, cv2.CV_64F)[1:-1, 1:-1].var()` gives.
public struct FocusScore: Stage {
  public static let plugin = Plugin(
    "focus", "how sharp a frame is: the variance of its Laplacian", FocusScore.self)

  public typealias Report = FocusReport

  public static var order: Order { .any }

  public static var settings: [Setting<Self>] {
    [Setting("region", \.region, "where to measure; the pixels at its edge are only read")]
  }

  var region = Region.whole
  var writer: ReportWriter<Report>?
  var columns = 0..<0
  var rows = 0..<0
  /// One row of Laplacians.
  var scratch: [Int16] = []

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.full))
    writer = setup.report(Report.self)
    let format = setup.format
    (columns, rows) = region.pixels(width: format.width, height: format.height)
    guard columns.count >= 3, rows.count >= 3 else {
      throw StageError(
        "needs a region of at least 3x3 pixels, and \(region.settingText) of a "
          + "\(format.width)x\(format.height) picture is \(columns.count)x\(rows.count)")
    }
    scratch = [Int16](repeating: 0, count: columns.count - 2)
    return format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    var report = Report()
    report.score = score(frame.luma())
    frame.write(report, writer)
    return .keep
  }

  mutating func score(_ luma: borrowing Plane) -> Double {
    let (columns, rows) = (columns, rows)
    var sum: Int64 = 0
    var squares: UInt64 = 0
    var laplacians = scratch.mutableSpan
    for y in rows.lowerBound + 1..<rows.upperBound - 1 {
      laplacian(
        above: luma[row: y - 1].extracting(columns), row: luma[row: y].extracting(columns),
        below: luma[row: y + 1].extracting(columns), into: &laplacians)
      let row = moments(of: laplacians.span)
      sum += row.sum
      squares += row.squares
    }
    return variance(sum: sum, squares: squares, count: (columns.count - 2) * (rows.count - 2))
  }
}
