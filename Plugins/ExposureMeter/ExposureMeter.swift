import Glibc
public import SprocketCore

/// Measures how bright a frame is, and what of it is lost at either end.
///
/// Pixels are only counted, by level and by whether they lie in the middle; every number follows
/// from the two histograms.
public struct ExposureMeter: Stage {
  public static let plugin = Plugin(
    "meter", "how bright a frame is, and what of it is clipped", ExposureMeter.self)

  public typealias Report = ExposureReport

  public static var order: Order { .any }

  /// Half the width and half the height, in the middle.
  static let center = Region(x: 0.25, y: 0.25, width: 0.5, height: 0.5)
  /// The middle's share of the result, as in centre-weighted cameras (75/25).
  static let centerWeight = 0.75
  /// log2 of the reflectance of a gray card, 18 % (ISO 2721): what a right exposure makes of the mean.
  static let target = log2(0.18)

  var writer: ReportWriter<Report>?
  var columns = 0..<0
  var rows = 0..<0
  /// log2 of linear luminance, by level.
  var logLuminance: [Double] = []

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.full))
    writer = setup.report(Report.self)
    let format = setup.format
    (columns, rows) = Self.center.pixels(width: format.width, height: format.height)
    logLuminance = logLuminances(of: format.color.transfer)
    return format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    frame.write(measure(frame.luma()), writer)
    return .keep
  }

  func measure(_ luma: borrowing Plane) -> Report {
    var middle = LevelTables(repeating: 0)
    var around = LevelTables(repeating: 0)
    for y in 0..<luma.rows {
      let row = luma[row: y]
      if rows.contains(y) {
        countLevels(of: row.extracting(..<columns.lowerBound), into: &around)
        countLevels(of: row.extracting(columns), into: &middle)
        countLevels(of: row.extracting(columns.upperBound...), into: &around)
      } else {
        countLevels(of: row, into: &around)
      }
    }
    return summary(center: merged(middle), rest: merged(around))
  }

  func summary(center: LevelCounts, rest: LevelCounts) -> Report {
    var report = Report()
    var levelSum: UInt64 = 0
    var (centerCount, centerLog, restCount, restLog) = (0.0, 0.0, 0.0, 0.0)
    for level in 0..<256 {
      let count = center[level] + rest[level]
      report.histogram[level] = count
      levelSum += UInt64(count) * UInt64(level)
      centerCount += Double(center[level])
      centerLog += Double(center[level]) * logLuminance[level]
      restCount += Double(rest[level])
      restLog += Double(rest[level]) * logLuminance[level]
    }
    let histogram = report.histogram
    let count = centerCount + restCount
    report.mean = Double(levelSum) / count
    report.clipped = Double(histogram[254] + histogram[255]) / count
    report.crushed = Double(histogram[0] + histogram[1]) / count
    // A picture of one pixel, row or column may be all middle.
    let weight = restCount > 0 ? Self.centerWeight : 1
    report.logLuminance =
      weight * centerLog / centerCount + (1 - weight) * restLog / max(restCount, 1)
    report.offset = report.logLuminance - Self.target
    return report
  }
}
