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
    setup.readsHistory(Self.history)
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
    // Too many in a row were damaged or late: the scene goes on, but nothing says how it moved.
    var best = FrameMotion()
    best.comparison = .blank
    for index in 0..<min(frame.earlierCount, Self.history) {
      guard let earlier = frame.earlier(index) else { break }
      let motion = compare(earlier, frame, framesBack: index + 1)
      if index == 0 || motion.confidence > best.confidence { best = motion }
      // What lies before a break in the source is another scene.
      let isBreak = earlier.record.isDiscontinuity
      if isBreak || best.confidence >= Self.fairConfidence { break }
    }
    return best
  }

  private mutating func compare(
    _ earlier: borrowing NeighbourFrame, _ frame: borrowing FrameView, framesBack: Int
  ) -> FrameMotion {
    for level in 0..<(estimator?.scales.count ?? 0) {
      guard let scale = estimator?.scales[level] else { break }
      estimator?.earlier.copy(earlier.luma(scale), level: level)
      if framesBack == 1 { estimator?.current.copy(frame.luma(scale), level: level) }
    }
    var motion = estimator?.motion() ?? FrameMotion()
    motion.framesBack = framesBack
    let since = frame.record.captured.nanoseconds(since: earlier.record.captured) ?? 0
    motion.seconds = Double(since) * 1e-9
    let found = motion.fromEarlier
    motion.fromEarlier = unusable.checked(found, isUsable: found.isFinite)
    if !found.isFinite { (motion.comparison, motion.confidence) = (.blank, 0) }
    return motion
  }

  /// Earlier frames that are kept: up to three blurred, blank, damaged or dropped ones in a row are bridged.
  /// Larger: longer runs are, at the cost of their pictures' memory.
  private static let history = 4
  /// Confidence below which frames further back are compared with, too, until one reaches it. Larger: more
  /// comparisons, each as long as the first. By trial: clips without blurred frames stay above it.
  private static let fairConfidence = 0.3
}

extension LumaPyramid {
  /// Copies a level that the engine prepared.
  fileprivate mutating func copy(_ plane: Plane, level: Int) {
    for y in 0..<plane.rows { copy(plane[row: y], level: level, y: y) }
  }
}
