import Glibc
public import SprocketCore

/// Measures how bright a frame is, by how much that is off, and what is lost at either end.
///
/// Pixels are only counted, by level and zone; every number follows from the counts. There are
/// histograms of one row of zones at a time: they are folded into the picture's before the next.
public struct ExposureMeter: Stage {
  public static let plugin = Plugin(
    "meter", "how bright a frame is, and what of it is clipped", ExposureMeter.self)

  public typealias Report = ExposureReport

  public static var order: Order { .any }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var mode = MeteringMode.center
    /// The middle of what mode `spot` meters.
    public var point = Point.center
    /// The reflectance of a gray card, 18 % (ISO 2721): what a right exposure makes of the mean.
    public var target = 0.18
    /// What Raspberry Pi's constraint `highlight` keeps the brightest 2 % at (libcamera,
    /// src/ipa/rpi/vc4/data/imx219.json: q_lo 0.98, q_hi 1, y_target 0.8).
    public var highlightTarget = 0.8
    /// All, so that the histogram is the frame's, and a lamp of a few pixels is found.
    public var samples = 0

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("mode", \.mode, "which part of the picture decides").live,
        Setting("point", \.point, "the middle of what mode=spot meters").live,
        Setting(
          "target", \.target, range: 0.01...1, unit: "of white",
          "the luminance that is right, in all modes but highlights"
        ).live,
        Setting(
          "highlighttarget", \.highlightTarget, range: 0.01...1, unit: "of white",
          "the luminance that is right for the brightest 2 %, in mode=highlights"
        ).live,
        Setting(
          "samples", \.samples, range: 0...1_000_000_000, unit: "pixels",
          "meter so many at least, on a grid of rows; 0: every pixel"),
      ]
    }
  }

  public var settings = Settings()

  var writer: ReportWriter<Report>?
  /// Of each mode, so that a change of it allocates nothing.
  private var patterns: [MeteringMode: MeteringPattern] = [:]
  var pattern = MeteringPattern(.average, around: .center, width: 1, height: 1)
  private var size = (width: 1, height: 1)
  var grid = SamplingGrid(samples: 0, width: 1, height: 1)
  var scale = LuminanceScale(of: .unspecified)
  /// log2 of the luminance that is right.
  var logTarget = 0.0
  /// One for each zone of a row, empty between frames.
  var tables = [LevelTables](
    repeating: LevelTables(repeating: 0), count: MeteringPattern.zonesAcross)
  /// The sum of log2 luminance, and the number of pixels, of each zone.
  var sums: [(logSum: Double, count: Int)] = []

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.full))
    writer = setup.report(Report.self)
    let format = setup.format
    size = (format.width, format.height)
    for mode in MeteringMode.allCases {
      patterns[mode] = MeteringPattern(
        mode, around: settings.point, width: format.width, height: format.height)
    }
    grid = SamplingGrid(samples: settings.samples, width: format.width, height: format.height)
    sums = Array(repeating: (0, 0), count: patterns.values.reduce(0) { max($0, $1.weights.count) })
    scale = LuminanceScale(of: format.color.transfer)
    retune()
    return format
  }

  public mutating func retune() {
    pattern = patterns[settings.mode] ?? pattern
    if settings.mode == .spot {
      pattern.spot = MeteringPattern.spot(
        around: settings.point, width: size.width, height: size.height)
    }
    logTarget = log2(
      (settings.mode == .highlights ? settings.highlightTarget : settings.target) * scale.white)
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    frame.write(measure(frame.luma()), writer)
    return .keep
  }

  mutating func measure(_ luma: borrowing Plane) -> Report {
    var report = Report()
    report.logLuminance = meterZones(of: luma, into: &report.histogram)
    if let spot = pattern.spot {
      report.logLuminance = meterSpot(spot, of: luma)
    } else if settings.mode == .highlights {
      report.logLuminance = log2(
        meanOfBrightest(0.02, of: report.histogram.span, scale.luminance.span))
    }
    report.offset = report.logLuminance - logTarget
    describe(&report, scale)
    return report
  }

  /// The weighted mean of the zones' means of log2 luminance. Zones without pixels do not count.
  mutating func meterZones(of luma: borrowing Plane, into histogram: inout LevelCounts) -> Double {
    for zone in sums.indices { sums[zone] = (0, 0) }
    var total = histogram.mutableSpan
    for band in pattern.bands {
      let count = grid.count(of: band.rows)
      for index in 0..<count {
        let row = luma[row: grid.row(index, of: count, in: band.rows)]
        for part in band.parts {
          countLevels(of: row.extracting(part.columns), into: &tables[part.zone % tables.count])
        }
      }
      for part in band.parts { foldZone(part.zone, addingTo: &total) }
    }
    var (weightedMeans, weights) = (0.0, 0.0)
    for (weight, sum) in zip(pattern.weights, sums) where weight > 0 && sum.count > 0 {
      weightedMeans += weight * sum.logSum / Double(sum.count)
      weights += weight
    }
    return weightedMeans / weights
  }

  /// Moves what was counted of `zone` to its sums.
  mutating func foldZone(_ zone: Int, addingTo total: inout MutableSpan<UInt32>) {
    var counts = LevelCounts(repeating: 0)
    var counted = counts.mutableSpan
    merge(tables[zone % tables.count].span, into: &counted, addingTo: &total)
    tables[zone % tables.count] = LevelTables(repeating: 0)
    sums[zone].logSum += weightedSum(counted.span, scale.logLuminance.span)
    sums[zone].count += sum(counted.span)
  }

  /// The mean of log2 luminance of all pixels of `spot`.
  mutating func meterSpot(_ spot: Rectangle, of luma: borrowing Plane) -> Double {
    for y in spot.rows {
      countLevels(of: luma[row: y].extracting(spot.columns), into: &tables[0])
    }
    var unused = LevelCounts(repeating: 0)
    var total = unused.mutableSpan
    sums[0] = (0, 0)
    foldZone(0, addingTo: &total)
    return sums[0].logSum / Double(sums[0].count)
  }
}

extension StageChoice {
  /// Measures brightness: `ExposureReport`.
  public static func meter(_ choose: (inout ExposureMeter.Settings) -> Void = { _ in })
    -> StageChoice
  {
    StageChoice(ExposureMeter.plugin, of: ExposureMeter.self, choose)
  }
}
