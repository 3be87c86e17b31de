public import SprocketCore

/// Measures how the picture moved since the nearest intact earlier frame.
public struct MotionStage: Stage {
  public typealias Report = MotionReport

  public static var order: Order { .any }

  public typealias Settings = Stabilizer.Settings
  public var settings = Settings()
  private var writer: ReportWriter<Report>?
  private var estimator: MotionEstimator?
  private var unusable = UnusableMatrices()

  public var notes: [String] { unusable.notes("stabilize/estimate") }

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    (writer, estimator) = (nil, nil)
    guard Stabilizer.active(settings.mode, format, isLive: setup.isLive) != .off else {
      return format
    }
    let estimator = MotionEstimator(width: format.width, height: format.height)
    for scale in estimator.scales { try setup.reads(.luma(scale)) }
    // Up to three damaged or dropped frames in a row are bridged.
    setup.readsHistory(4)
    writer = setup.report(Report.self)
    self.estimator = estimator
    return format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    let motion = motion(of: frame)
    frame.write(MotionReport(motion), writer)
    return .keep
  }

  private mutating func motion(of frame: borrowing FrameView) -> FrameMotion {
    guard estimator != nil, !frame.record.isDiscontinuity else { return FrameMotion() }
    guard let earlier = frame.earlier() else {
      // Too many in a row were damaged or late: the scene goes on, but nothing says how it moved.
      var unknown = FrameMotion()
      unknown.comparison = .blank
      return unknown
    }
    for level in 0..<(estimator?.scales.count ?? 0) {
      guard let scale = estimator?.scales[level] else { break }
      estimator?.earlier.copy(earlier.luma(scale), level: level)
      estimator?.current.copy(frame.luma(scale), level: level)
    }
    var motion = estimator?.motion() ?? FrameMotion()
    let since = frame.record.captured.nanoseconds(since: earlier.record.captured) ?? 0
    motion.seconds = Double(since) * 1e-9
    let found = motion.fromEarlier
    motion.fromEarlier = unusable.checked(found, isUsable: found.isFinite)
    if !found.isFinite { motion.comparison = .blank }
    return motion
  }
}

extension LumaPyramid {
  /// Copies a level that the engine prepared.
  fileprivate mutating func copy(_ plane: Plane, level: Int) {
    for y in 0..<plane.rows { copy(plane[row: y], level: level, y: y) }
  }
}
