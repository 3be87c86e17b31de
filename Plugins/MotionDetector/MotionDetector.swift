public import SprocketCore

/// Detects motion in front of a fixed camera: how much moves, and where.
///
/// Compares each sample of reduced luma with a slowly learned background, after subtracting changes of light.
/// Allocates in `configure` only.
public struct MotionDetector: Stage {
  public static let plugin = Plugin(
    "motion", "what moves, and whether the scene changed, froze or went dark", MotionDetector.self)

  public typealias Report = MotionDetection

  public static var order: Order { .sequence }

  /// What a user may choose.
  public struct Settings: KindSettings {
    /// Least difference from the background, in levels of luma, 1 to 100. Larger: less noise and fewer faint
    /// things are detected.
    public var threshold = 6.0
    /// Time after which a thing that stands still becomes background, and time constant of slow changes,
    /// 0.1 s to 1 h. Larger: parked cars count as motion for longer; noise is known better.
    public var memory = Duration.seconds(10)
    /// The watched part of the picture.
    public var region = Region.whole

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting(
          "threshold", \.threshold, range: 1...100, unit: "levels",
          "the least difference from the background that counts"),
        Setting(
          "memory", \.memory, range: .milliseconds(100) ... .seconds(3600),
          "how long a thing stands still until it is background; also the background's time constant"
        ),
        Setting("region", \.region, "the part of the picture that is watched"),
      ]
    }
  }

  public var settings = Settings()

  private var writer: ReportWriter<Report>?
  private var scale = LumaScale.eighth
  private var columns = 0..<0
  private var rows = 0..<0
  private var luma: [UInt8] = []
  private var background = Background(count: 0, threshold: 0, memory: 0)
  private var watch = SceneWatch(count: 0, threshold: 0)
  private var area = ChangedArea(width: 0, height: 0)
  /// Width and height of the frame in pixels.
  private var (width, height) = (0.0, 0.0)
  private var usualSeconds = 1.0 / 30
  /// Capture time of the latest frame in nanoseconds; `nil` before the first.
  private var latest: Int64?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    scale = Self.scale(of: format, settings.region)
    try setup.reads(.luma(scale))
    writer = setup.report(Report.self)
    let size = format.lumaSize(scale)
    (columns, rows) = settings.region.pixels(width: size.width, height: size.height)
    let count = columns.count * rows.count
    luma = [UInt8](repeating: 0, count: count)
    let memorySeconds = Double(settings.memory.nanosecondCount) / 1e9
    background = Background(count: count, threshold: settings.threshold, memory: memorySeconds)
    watch = SceneWatch(count: count, threshold: settings.threshold)
    area = ChangedArea(width: columns.count, height: rows.count)
    (width, height) = (Double(format.width), Double(format.height))
    let rate = format.rate
    usualSeconds = rate.frames > 0 ? min(1 / rate.framesPerSecond, Self.longestPause) : 1.0 / 30
    latest = nil
    return format
  }

  /// Least samples along the region's longer side; the luma scale follows from it. Larger: finer motion is
  /// detected in small pictures, at more cost. 80 are 8 samples for a person of a tenth of the width.
  private static let leastSide = 80

  private static func scale(of format: FrameFormat, _ region: Region) -> LumaScale {
    let scales: [LumaScale] = [.eighth, .quarter, .half]
    return scales.first {
      let size = format.lumaSize($0)
      let (columns, rows) = region.pixels(width: size.width, height: size.height)
      return max(columns.count, rows.count) >= leastSide
    } ?? .full
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    copyLuma(frame)
    let seconds = secondsSinceLatest(frame.record.captured.nanoseconds)
    frame.write(report(seconds), writer)
    return .keep
  }

  private mutating func copyLuma(_ frame: borrowing FrameView) {
    let plane = frame.luma(scale)
    var index = 0
    for y in rows {
      let row = plane[row: y]
      for x in columns {
        luma[index] = row[x]
        index += 1
      }
    }
  }

  /// Longest time between two frames that is used, in seconds. Larger: the first frame after a pause changes
  /// the background more.
  private static let longestPause = 10.0

  /// Time since the latest frame; the usual time if times do not increase.
  private mutating func secondsSinceLatest(_ now: Int64) -> Double {
    defer { latest = now }
    guard let latest else { return usualSeconds }
    let seconds = (Double(now) - Double(latest)) / 1e9
    return seconds > 0 ? min(seconds, Self.longestPause) : usualSeconds
  }

  private mutating func report(_ seconds: Double) -> Report {
    var report = Report()
    report.light = background.compare(luma)
    area.find(background.differs)
    report.score = area.share
    report.regions = area.regions
    report.grid = area.grid
    if area.regions > 0 { setBox(of: area.largest, in: &report) }
    background.learn(luma, moving: area.changed, seconds: seconds)
    let state = watch.look(luma, share: area.share, seconds: seconds)
    report.sceneChanged = state.sceneChanged
    report.subjectAreaChanged = state.subjectAreaChanged
    report.frozenSeconds = state.frozenSeconds
    report.isDark = state.isDark
    if state.sceneChanged { background.restart() }
    return report
  }

  /// The last samples may extend beyond the frame, so the box is limited to it.
  private func setBox(of area: (columns: Range<Int>, rows: Range<Int>), in report: inout Report) {
    let side = Double(scale.divisor)
    report.x = Double(columns.lowerBound + area.columns.lowerBound) * side / width
    report.y = Double(rows.lowerBound + area.rows.lowerBound) * side / height
    report.width = min(Double(area.columns.count) * side / width, 1 - report.x)
    report.height = min(Double(area.rows.count) * side / height, 1 - report.y)
  }
}

/// Motion in one frame. Positions are fractions of the picture, origin at the top left.
public struct MotionDetection: FrameReport {
  /// Share of moving samples in the region, 0 to 1.
  public var score = 0.0
  /// Number of connected moving areas.
  public var regions: UInt32 = 0
  /// Left edge of the largest area's bounding box, 0 to 1; all four are 0 if nothing moves.
  public var x = 0.0
  /// Top edge of the largest area's bounding box, 0 to 1.
  public var y = 0.0
  /// Width of the largest area's bounding box, 0 to 1.
  public var width = 0.0
  /// Height of the largest area's bounding box, 0 to 1.
  public var height = 0.0
  /// `score` in each of 4x4 cells of the region, row by row.
  public var grid = GridValues(repeating: 0)
  /// Change of light against the background, in levels: the most frequent difference. From 25 on the
  /// background restarts.
  public var light = 0.0
  /// True if most of the region changed at once: a cut, or a moved or covered camera. The background
  /// restarts. In a picture of one tone a cover is a change of `light`.
  public var sceneChanged = false
  /// True on one frame after the shapes or the light of the scene have changed for half a second.
  public var subjectAreaChanged = false
  /// Seconds since any sample changed: large for a frozen camera, or for pictures without noise.
  public var frozenSeconds = 0.0
  /// True if almost all samples are black: a covered lens, or no signal.
  public var isDark = false

  public init() {}

  public static var fields: [ReportField<Self>] {
    [
      ReportField("score", \.score), ReportField("regions", \.regions),
      ReportField("x", \.x), ReportField("y", \.y), ReportField("width", \.width),
      ReportField("height", \.height), ReportField("grid", \.grid),
      ReportField("light", unit: "levels", \.light),
      ReportField("scene_changed", \.sceneChanged),
      ReportField("subject_area_changed", \.subjectAreaChanged),
      ReportField("frozen", unit: "s", \.frozenSeconds), ReportField("dark", \.isDark),
    ]
  }
}

extension StageChoice {
  /// Detects motion in front of a fixed camera: `MotionDetection`.
  public static func motion(_ choose: (inout MotionDetector.Settings) -> Void = { _ in })
    -> StageChoice
  {
    StageChoice(MotionDetector.plugin, of: MotionDetector.self, choose)
  }
}
