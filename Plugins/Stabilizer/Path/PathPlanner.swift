internal import Glibc

/// Plans where the crop window lies in each frame, so that its picture moves as smoothly as possible.
///
/// At every frame it fills a horizon: the known motions `ahead`, and beyond those, or without any, motions
/// predicted by `ShakePredictor`. Over the horizon it computes the path with the least accelerations that
/// stays within the crop (`SmoothestPath`: first the roll, then the shifts within the margins that the roll
/// leaves), takes its first step, and plans anew at the next frame: model-predictive control. A camera that
/// stands still or glides is followed (`ShakeClassifier`), and the end of a pan is not passed by much
/// (`PathPlanner+Pan`).
///
/// The shown picture moves between two frames by S = C M C'⁻¹, where M is the camera's motion, and C' and C
/// are `stabilizedFromSensor` before and after. S is planned, and C follows from it, so that a roll of the
/// window does not cause shifts. Scale is never corrected.
///
/// A pure value: the same motions give the same path. Times are in ticks of 1/30 s, never in frames. All
/// memory is taken by `init`.
struct PathPlanner {
  var window: CropWindow
  /// The window's pose in the latest frame.
  private(set) var pose = Pose.zero
  /// Velocity of the shown picture, per tick, and the length of the step that it was taken from; 0 before.
  private var velocity = Pose.zero
  private var velocityTicks = 0.0
  /// Sums of the camera's motions, and of those that are left, since the latest start.
  private(set) var path = Pose.zero
  private(set) var smoothPath = Pose.zero
  var predictor = ShakePredictor()
  var classifier = ShakeClassifier()
  /// Intended velocity per tick at the end of the known motions.
  var intent = Pose.zero
  private(set) var clock = FrameClock()
  private var bridge = MotionBridge()
  /// The motion to the frame at hand, and those that lead on from it.
  private(set) var motions: [FrameMotion] = []
  var horizon: Horizon
  var pathX: SmoothestPath
  var pathY: SmoothestPath
  var pathRoll: SmoothestPath

  /// For pictures of that size, of which `crop`, 0...0.25, is cut off at each side, with at most
  /// `lookahead` later motions known.
  init(width: Int, height: Int, crop: Double, lookahead: Int) {
    window = CropWindow(width: width, height: height, crop: crop)
    horizon = Horizon(lookahead: lookahead)
    motions.reserveCapacity(lookahead + 1)
    pathX = SmoothestPath(capacity: horizon.knots.count)
    pathY = pathX
    pathRoll = pathX
  }

  var stabilizedFromSensor: Similarity { window.stabilizedFromSensor(pose) }
  var cropLeft: Double { window.cropLeft(pose) }

  /// The frame that `motion` led to is the next; `ahead` leads on from it, at most `lookahead` motions.
  /// About 50 µs.
  mutating func next(_ motion: FrameMotion, ahead: [FrameMotion]) -> Similarity {
    motions.removeAll(keepingCapacity: true)
    motions.append(motion)
    motions.append(contentsOf: ahead)
    let correction = divideMotions()
    guard Self.continues(motions[0]) else {
      start()
      return stabilizedFromSensor
    }
    if let correction {
      goOn(from: correction)
    } else if bridge.endsUnknown {
      // Nothing tells how the scene has moved since it was last seen.
      predictor.mark()
    }
    let wasUnknown = bridge.endsUnknown
    let estimate = MotionEstimate(motions[0], &clock, &predictor, window)
    guard !wasUnknown || estimate.weight > 0 else {
      rest()
      return stabilizedFromSensor
    }
    var step = estimate.step
    step.seconds = motions[0].seconds
    bridge.show(step)
    classifier.add(
      estimate.displacement, ticks: estimate.ticks, width: window.width, usual: clock.usualTicks)
    fillHorizon(estimate.carry(pose), ticks: estimate.ticks)
    move(to: plan(), from: estimate.carry(pose), estimate.ticks)
    path += estimate.displacement
    return stabilizedFromSensor
  }

  /// Makes each of `motions` one since the frame just before; returns what that tells of the frames shown.
  private mutating func divideMotions() -> MotionBridge.Correction? {
    guard motions.contains(where: { $0.framesBack > 1 }) else { return nil }
    var soon = predictor
    soon.coast(max(clock.usualTicks, 0.1))
    let (spread, window) = (soon.standardDeviation, window)
    return bridge.divide(&motions) { $0.weight(against: spread, window) }
  }

  /// The shown picture moved otherwise in the latest frames than was predicted: the path goes on from that.
  private mutating func goOn(from correction: MotionBridge.Correction) {
    predictor.correctSkipped(by: correction.sum)
    path += correction.sum
    smoothPath += correction.sum
    guard velocityTicks > 0 else { return }
    let (x, y) = Self.turn(correction.last, by: -pose[2])
    velocity += Pose(x, y, correction.last[2]) / velocityTicks
  }

  /// Leaves the window where it is, as the scene has been out of sight for more than a frame; it may go on at
  /// any velocity.
  private mutating func rest() {
    (velocity, velocityTicks) = (.zero, 0)
    bridge.show(MotionBridge.Step(seconds: motions[0].seconds))
  }

  /// Fraction of the way from the middle to the planned start that the window begins at. Larger: a smoother
  /// start, with less room for what is not known yet. By trial on clips cut to begin in motion.
  private static let startShare = 0.4

  /// Begins at the place from which the path through what is known ahead is the smoothest. Without that the
  /// window stays: what was taken for another scene may have been something that passed the lens.
  private mutating func start() {
    let (stayed, bridge) = (pose, bridge)
    restart()
    (pose, self.bridge) = (stayed, bridge)
    self.bridge.show(MotionBridge.Step(seconds: motions[0].seconds))
    guard motions.count > 1 else { return }
    fillHorizon(.zero, ticks: clock.usualTicks > 0 ? clock.usualTicks : 1)
    pose = window.clamped(plan(isStart: true) * Self.startShare * (1 - classifier.steadyShare))
    horizon.keep(pathX, pathY, pathRoll)
  }

  static func continues(_ motion: FrameMotion) -> Bool {
    motion.comparison == .tracked || motion.comparison == .blank
  }

  /// Whether the state that the next frame builds on is finite.
  var isFinite: Bool {
    (pose + velocity + path + smoothPath + intent).sum().isFinite && classifier.shakiness.isFinite
      && predictor.displacement.sum().isFinite
  }

  /// Forgets all motions.
  mutating func restart() {
    pose = .zero
    (velocity, velocityTicks) = (.zero, 0)
    (path, smoothPath) = (.zero, .zero)
    predictor = ShakePredictor()
    classifier = ShakeClassifier()
    (intent, clock) = (.zero, FrameClock())
    horizon.restart()
    bridge = MotionBridge()
  }

  /// Longest time between frames by which the pull counts, in ticks: 12.5 frames/s. Beyond it the window
  /// takes as many frames, not as long, to return.
  /// Larger: shake at low frame rates is smoothed less, and more of
  /// the crop is left for what is not known. By trial on `test.avi` at 10 frames/s.
  private static let mostPullTicks = 2.4

  /// By what the pull, per tick to the fourth, is less where frames are rare.
  private var pullShare: Double {
    let share = min(1, Self.mostPullTicks / max(clock.usualTicks, Self.mostPullTicks))
    return share * share * share * share
  }

  /// The window's best pose now.
  private mutating func plan(isStart: Bool = false) -> Pose {
    let pull = (classifier.pull + Horizon.leastPull) * pullShare
    let (count, known) = (horizon.count, horizon.known)
    for index in 0..<count { pathRoll.knots[index].margin = window.mostRoll }
    horizon.fill(&pathRoll, axis: 2, pull: pull, lag: 0)
    pathRoll.solve(count, velocity: velocity[2], before: velocityTicks, isStart: isStart)
    for index in 0..<count {
      let knot = pathRoll.knots[index]
      let (x, y) = window.margins(roll: window.clampedRoll(knot.middle - knot.path))
      // Smaller for predicted knots, so that a prediction does not keep the path from using a known margin.
      let keep = index < known ? 0.99 : 0.97
      (pathX.knots[index].margin, pathY.knots[index].margin) = (keep * x, keep * y)
    }
    let margin = Pose(pathX.knots[0].margin, pathY.knots[0].margin, 0)
    let lag = panLag(margin)
    let turned = window.clampedRoll(pathRoll.knots[0].middle - pathRoll.knots[0].path)
    let (x, y) = Self.turn(velocity, by: turned)
    horizon.fill(&pathX, axis: 0, pull: pull, lag: lag[0])
    pathX.solve(count, velocity: x, before: velocityTicks, isStart: isStart)
    horizon.fill(&pathY, axis: 1, pull: pull, lag: lag[1])
    pathY.solve(count, velocity: y, before: velocityTicks, isStart: isStart)
    if isStart {
      let path = Pose(pathX.knots[0].path, pathY.knots[0].path, pathRoll.knots[0].path)
      return horizon.knots[0].held - path
    }
    let step = Pose(
      braked(pathX.knots[0].path, axis: 0, margin: margin[0]),
      braked(pathY.knots[0].path, axis: 1, margin: margin[1]), pathRoll.knots[0].path)
    return horizon.knots[0].held - step
  }

  /// `held` is the window's pose if it stayed with the scene.
  private mutating func move(to target: Pose, from held: Pose, _ ticks: Double) {
    pose = window.clamped(target)
    let step = held - pose
    let (x, y) = Self.turn(step, by: -pose[2])
    velocity = Pose(x, y, step[2]) / ticks
    velocityTicks = ticks
    smoothPath += Pose(x, y, step[2])
    horizon.keep(pathX, pathY, pathRoll)
  }

  private static func turn(_ pose: Pose, by roll: Double) -> (Double, Double) {
    let (c, s) = (cos(roll), sin(roll))
    return (c * pose[0] - s * pose[1], s * pose[0] + c * pose[1])
  }
}
