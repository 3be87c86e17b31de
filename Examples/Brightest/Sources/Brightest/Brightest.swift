public import SprocketCore

/// Finds what has become brighter since the frame before, and where.
public struct Brightest: Stage {
  public static let plugin = Plugin(
    "brightest", "where it became brighter, and by how much", Brightest.self)
  public static let order = Order.any

  public struct Report: FrameReport {
    /// The place, in fractions of the picture.
    public var x = 0.0
    public var y = 0.0
    /// Levels of 255 by which it is brighter there than in the frame before.
    public var rise: UInt32 = 0

    public init() {}

    public static let fields: [ReportField<Self>] = [
      ReportField("x", unit: "fraction", \.x), ReportField("y", unit: "fraction", \.y),
      ReportField("rise", unit: "level", \.rise),
    ]
  }

  public struct Settings: KindSettings {
    public var least = 8

    public init() {}

    public static var settings: [Setting<Self>] {
      [Setting("least", \.least, range: 1...255, unit: "levels", "a smaller rise is not reported")]
    }
  }

  public var settings = Settings()
  private var writer: ReportWriter<Report>?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.quarter))
    setup.readsHistory(1)
    writer = setup.report(Report.self)
    return setup.format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    // The first frame has no earlier frame to compare with. A frame that follows a damaged one has none
    // either.
    var report = Report()
    if let before = frame.earlier(0), !frame.record.isDiscontinuity {
      report = compare(frame.luma(.quarter), before.luma(.quarter))
    }
    frame.write(report, writer)
    return .keep
  }

  private func compare(_ now: borrowing Plane, _ before: borrowing Plane) -> Report {
    var found = (x: 0, y: 0, rise: settings.least - 1)
    for y in 0..<now.rows {
      let (row, old) = (now[row: y], before[row: y])
      for x in row.indices where Int(row[x]) - Int(old[x]) > found.rise {
        found = (x, y, Int(row[x]) - Int(old[x]))
      }
    }
    var report = Report()
    if found.rise >= settings.least {
      report.x = (Double(found.x) + 0.5) / Double(now.bytesPerRow)
      report.y = (Double(found.y) + 0.5) / Double(now.rows)
      report.rise = UInt32(found.rise)
    }
    return report
  }
}
