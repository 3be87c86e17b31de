public import SprocketCore

/// Makes the picture that the camera would have taken on the planned path.
public struct WarpStage: Stage {
  public static var order: Order { .any }

  public typealias Settings = Stabilizer.Settings
  public var settings = Settings()
  private var plan: ReportReader<StabilizeReport>?
  private var warp: PictureWarp?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    (plan, warp) = (nil, nil)
    guard Stabilizer.active(settings.mode, format, isLive: setup.isLive) != .off else {
      return format
    }
    plan = try setup.reader(StabilizeReport.self, from: "stabilize/plan")
    try setup.writes(.nextImage, depth: .any)
    warp = format.image.map { PictureWarp($0, width: format.width, height: format.height) }
    return format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let plan, let report = frame.read(plan) else { return .keep }
    let format = frame.format
    let planned = report.similarity(width: format.width, height: format.height)
    if let sourceFromStabilized = Projection(report.stabilizedFromSensor).inverse {
      frame.setSensorMap(frame.sensorMap.followed(by: sourceFromStabilized))
    }
    var picture = frame.edit()
    warp?.warp(&picture, sensorFromStabilized: planned.inverse)
    return .keep
  }
}
