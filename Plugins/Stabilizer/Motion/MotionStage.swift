public import SprocketCore

/// Measures how the picture moved since the nearest intact earlier frame.
public struct MotionStage: Stage {
  public typealias Report = MotionReport

  public static var order: Order { .any }

  public static var settings: [Setting<Self>] {
    [Setting("mode", \.mode, Stabilizer.modeSetting)]
  }

  var mode = Stabilizer.Mode.auto
  private var writer: ReportWriter<Report>?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    writer = nil
    guard Stabilizer.active(mode, format, isLive: setup.isLive) != .off else { return format }
    try setup.reads(.luma(.full))
    setup.readsHistory(4)
    writer = setup.report(Report.self)
    return format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    frame.write(MotionReport(), writer)
    return .keep
  }
}
