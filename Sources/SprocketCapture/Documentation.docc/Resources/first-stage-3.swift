import SprocketCore

public struct Darkness: Stage {
  public static let plugin = Plugin("darkness", "how much of the picture is dark", Darkness.self)
  public static let order = Order.any
  public struct Settings: KindSettings {
    public var below = 32

    public init() {}

    public static var settings: [Setting<Self>] {
      [Setting("below", \.below, range: 1...255, unit: "levels", "luma below it is dark")]
    }
  }

  public struct Report: FrameReport {
    /// 0 to 1.
    public var share = 0.0

    public init() {}

    public static let fields: [ReportField<Self>] = [
      ReportField("share", unit: "fraction", \.share)
    ]
  }

  public var settings = Settings()
  private var writer: ReportWriter<Report>?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.quarter))
    writer = setup.report(Report.self)
    return setup.format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    var report = Report()
    report.share = darkShare(of: frame.luma(.quarter))
    frame.write(report, writer)
    return .keep
  }

  private func darkShare(of luma: borrowing Plane) -> Double {
    var dark = 0
    for y in 0..<luma.rows {
      let row = luma[row: y]
      for x in row.indices where row[x] < settings.below { dark += 1 }
    }
    return Double(dark) / Double(luma.rows * luma.bytesPerRow)
  }
}
