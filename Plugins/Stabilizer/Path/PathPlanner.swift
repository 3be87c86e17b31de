/// Plans where the crop window lies in each frame, so that its picture moves as smoothly as possible.
///
/// At every frame it fills a horizon: the known motions `ahead`, and beyond those, or without any, motions
/// predicted by `ShakePredictor`. Over the horizon it computes the path with the least accelerations that
/// stays within the crop (`SmoothestPath`: first the roll, then the shifts within the margins that the roll
/// leaves), takes its first step, and plans anew at the next frame: model-predictive control. A camera that
/// stands still or glides is followed (`ShakeClassifier`), and the end of a pan is not passed by much
/// (`PathPlanner+Brake`).
///
/// The shown picture moves between two frames by S = C M C'⁻¹, where M is the camera's motion, and C' and C
/// are `stabilizedFromSensor` before and after. S is planned, and C follows from it, so that a roll of the
/// window does not cause shifts. Scale is never corrected.
///
/// A pure value: the same motions give the same path. Times are in ticks of 1/30 s, never in frames. All
/// memory is taken by `init`.
struct PathPlanner {
  let window: CropWindow
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
  private(set) var clock = FrameClock()
  var horizon: Horizon
  var pathX: SmoothestPath
  var pathY: SmoothestPath
  var pathRoll: SmoothestPath

  /// For pictures of that size, of which `crop`, 0...0.25, is cut off at each side, with at most
  /// `lookahead` later motions known.
  init(width: Int, height: Int, crop: Double, lookahead: Int) {
    window = CropWindow(width: width, height: height, crop: crop)
    horizon = Horizon(lookahead: lookahead)
    pathX = SmoothestPath(capacity: horizon.knots.count)
    pathY = pathX
    pathRoll = pathX
  }

  var stabilizedFromSensor: Similarity { window.stabilizedFromSensor(pose) }
  var cropLeft: Double { window.cropLeft(pose) }

  /// The frame that `motion` led to is the next; `ahead` leads on from it, at most `lookahead` motions.
  /// About 50 µs.
  mutating func next(_ motion: FrameMotion, ahead: [FrameMotion]) -> Similarity {
    guard Self.continues(motion) else {
      restart()
      return stabilizedFromSensor
    }
    let estimate = MotionEstimate(motion, &clock, &predictor, window)
    predictor.mark()
    classifier.add(estimate.displacement, ticks: estimate.ticks, width: window.width)
    let held = estimate.carry(pose)
    fillHorizon(held, ticks: estimate.ticks, ahead)
    move(to: plan(), from: held, estimate.ticks)
    path += estimate.displacement
    return stabilizedFromSensor
  }

  static func continues(_ motion: FrameMotion) -> Bool {
    motion.comparison == .tracked || motion.comparison == .blank
  }

  /// Whether the state that the next frame builds on is finite.
  var isFinite: Bool {
    (pose + velocity + path + smoothPath).sum().isFinite && classifier.shakiness.isFinite
      && predictor.displacement.sum().isFinite
  }

  /// Forgets all motions.
  mutating func restart() {
    pose = .zero
    (velocity, velocityTicks) = (.zero, 0)
    (path, smoothPath) = (.zero, .zero)
    predictor = ShakePredictor()
    classifier = ShakeClassifier()
    clock = FrameClock()
    horizon.restart()
  }

  /// The window's best pose now.
  private mutating func plan() -> Pose {
    let count = horizon.count
    for index in 0..<count { pathRoll.knots[index].margin = window.mostRoll }
    horizon.fill(&pathRoll, axis: 2, pull: classifier.pull)
    pathRoll.solve(count, velocity: velocity[2], before: velocityTicks)
    for index in 0..<count {
      let knot = pathRoll.knots[index]
      let margins = window.margins(roll: window.clampedRoll(knot.middle - knot.path))
      (pathX.knots[index].margin, pathY.knots[index].margin) = margins
    }
    horizon.fill(&pathX, axis: 0, pull: classifier.pull)
    pathX.solve(count, velocity: velocity[0], before: velocityTicks)
    horizon.fill(&pathY, axis: 1, pull: classifier.pull)
    pathY.solve(count, velocity: velocity[1], before: velocityTicks)
    let step = Pose(
      braked(pathX.knots[0].path, axis: 0, margin: pathX.knots[0].margin),
      braked(pathY.knots[0].path, axis: 1, margin: pathY.knots[0].margin), pathRoll.knots[0].path)
    return horizon.knots[0].held - step
  }

  /// `held` is the window's pose if it stayed with the scene.
  private mutating func move(to target: Pose, from held: Pose, _ ticks: Double) {
    pose = window.clamped(target)
    let step = held - pose
    velocity = step / ticks
    velocityTicks = ticks
    smoothPath += step
    horizon.keep(pathX, pathY, pathRoll)
  }
}
