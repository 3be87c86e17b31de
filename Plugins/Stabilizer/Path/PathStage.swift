public import SprocketCore

/// Plans how the camera should have moved.
public struct PathStage: Stage {
  public typealias Report = StabilizeReport

  public static var order: Order { .sequence }

  public typealias Settings = Stabilizer.Settings
  public var settings = Settings()

  private var writer: ReportWriter<Report>?
  private var motion: ReportReader<MotionReport>?
  private var report = Report()
  private var planner: PathPlanner?
  /// The later motions; never more than there was room for from the start.
  private var ahead: [FrameMotion] = []
  private var format: FrameFormat?
  private var unusable = UnusableMatrices()
  private var limits: [String] = []

  public var notes: [String] { limits + unusable.notes("stabilize/plan") }

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    let active = Stabilizer.active(settings.mode, format, isLive: setup.isLive)
    writer = setup.report(Report.self)
    (motion, planner, limits) = (nil, nil, [])
    report = Report()
    report.mode = active
    report.set(stabilizedFromSensor: .identity, width: format.width, height: format.height)
    self.format = format
    guard active != .off else {
      if settings.mode != .off { limits = [Self.inactive] }
      return format
    }
    noteCrop()
    motion = try setup.reader(MotionReport.self, from: "stabilize/estimate")
    let known = active == .cinematic ? settings.lookahead : 0
    if known > 0 { setup.readsAhead(known) }
    planner = PathPlanner(
      width: format.width, height: format.height, crop: settings.crop, lookahead: known)
    ahead.reserveCapacity(known)
    return format
  }

  public mutating func retune() {
    guard let format, planner != nil else { return }
    planner?.window = CropWindow(width: format.width, height: format.height, crop: settings.crop)
    noteCrop()
  }

  private mutating func noteCrop() {
    if settings.crop == 0, limits.isEmpty { limits = [Self.withoutRoom] }
  }

  private static let inactive =
    "stabilize did nothing: the picture is too small, or too narrow, for its motion to be followed"

  private static let withoutRoom =
    "stabilize moved nothing: crop=0 leaves no room for it; give what may be cut off, such as crop=0.05"

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer, let format else { return .keep }
    if let motion { plan(frame, motion, format) }
    frame.write(report, writer)
    return .keep
  }

  private mutating func plan(
    _ frame: borrowing FrameView, _ motion: ReportReader<MotionReport>, _ format: FrameFormat
  ) {
    ahead.removeAll(keepingCapacity: true)
    for index in 0..<min(frame.laterCount, ahead.capacity) {
      guard let report = frame.later(index)?.read(motion) else { break }
      ahead.append(report.motion)
    }
    // Without a report nothing is known of the motion.
    var unknown = FrameMotion()
    unknown.comparison = .blank
    plan(frame.read(motion)?.motion ?? unknown, format)
  }

  private mutating func plan(_ motion: FrameMotion, _ format: FrameFormat) {
    guard var stabilized = planner?.next(motion, ahead: ahead) else { return }
    let isFinite = planner?.isFinite == true
    stabilized = unusable.checked(stabilized, isUsable: isFinite)
    // Nothing of it may reach the next frame.
    if !isFinite { planner?.restart() }
    guard let planner else { return }
    report.set(stabilizedFromSensor: stabilized, width: format.width, height: format.height)
    let (path, smooth) = (planner.path, planner.smoothPath)
    (report.pathX, report.pathY) = (path[0], path[1])
    report.pathRoll = path[2] * 180 / .pi
    (report.smoothX, report.smoothY) = (smooth[0], smooth[1])
    report.smoothRoll = smooth[2] * 180 / .pi
    report.cropLeft = planner.cropLeft
  }
}
