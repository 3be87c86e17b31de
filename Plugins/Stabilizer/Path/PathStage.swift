public import SprocketCore

/// Plans how the camera should have moved.
public struct PathStage: Stage {
  public typealias Report = StabilizeReport

  public static var order: Order { .sequence }

  public static var settings: [Setting<Self>] {
    [
      Setting("mode", \.mode, Stabilizer.modeSetting),
      Setting(
        "crop", \.crop, range: 0...0.25,
        "of the picture that may be cut off at each side; never more, and the zoom is constant"),
      Setting(
        "lookahead", \.lookahead, range: 1...60, unit: "frames",
        "known of the future in mode cinematic"),
    ]
  }

  var mode = Stabilizer.Mode.auto
  var crop = 0.05
  var lookahead = 15
  private var writer: ReportWriter<Report>?
  private var motion: ReportReader<MotionReport>?
  private var report = Report()
  private var format: FrameFormat?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    let active = Stabilizer.active(mode, format, isLive: setup.isLive)
    (writer, motion) = (nil, nil)
    guard active != .off else { return format }
    motion = try setup.reader(MotionReport.self, from: "stabilize/estimate")
    if active == .cinematic { setup.readsAhead(lookahead) }
    writer = setup.report(Report.self)
    report.mode = ReportWord(active)
    self.format = format
    return format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer, let format else { return .keep }
    let stabilized = Similarity(scale: 1 / (1 - 2 * crop))
    report.set(stabilizedFromSensor: stabilized, width: format.width, height: format.height)
    frame.write(report, writer)
    return .keep
  }
}
