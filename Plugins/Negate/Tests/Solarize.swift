public import SprocketCore

/// Negates what is brighter than a threshold, as light on a half developed print does.
public struct Solarize: Stage {
  public static let plugin = Plugin("solarize", "the negative of what is bright", Solarize.self)

  public struct Report: FrameReport {
    /// Share of luma samples that were negated, 0 to 1.
    public var changed = 0.0

    public init() {}

    public static var fields: [ReportField<Self>] {
      [ReportField("changed", unit: "fraction", \.changed)]
    }
  }

  public static var order: Order { .any }

  /// What a user may choose.
  public struct Settings: KindSettings {
    var threshold = 0.5

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting(
          "threshold", \.threshold, range: 0...1, unit: "fraction of full scale",
          "samples above it are negated")
      ]
    }
  }

  public var settings = Settings()

  var limit: UInt8 = 0
  var writer: ReportWriter<Report>?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.inPlace)
    writer = setup.report(Report.self)
    limit = UInt8((settings.threshold * 255).rounded())
    return setup.format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    var changed = 0
    var samples = 0
    var picture = frame.edit()
    for y in 0..<picture.rows(plane: 0) {
      var row = picture.row(y, plane: 0)
      changed += solarize(&row, above: limit)
      samples += row.count
    }
    var report = Report()
    report.changed = Double(changed) / Double(samples)
    frame.write(report, writer)
    return .keep
  }
}

/// 255 - sample where it is above `limit`. Returns how many are.
func solarize(_ row: inout MutableSpan<UInt8>, above limit: UInt8) -> Int {
  var changed: UInt32 = 0  // At most one per sample of a row: below 2^32.
  for x in 0..<row.count {
    let isAbove = row[x] > limit
    row[x] = isAbove ? 255 &- row[x] : row[x]
    changed &+= isAbove ? 1 : 0
  }
  return Int(changed)
}
