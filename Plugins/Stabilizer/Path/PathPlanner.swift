internal import Glibc

/// Plans where the crop window lies in each frame, so that what it shows moves as smoothly as can be.
///
/// Every frame it looks ahead: over the `ahead` motions that it is given, and beyond those, or without
/// any, over what `ShakePredictor` foretells. Through that it lays the path with the least accelerations
/// that stays within the crop (`SmoothestPath`; first the roll, then the shifts with the margins that
/// the roll leaves), takes the first step of it, and plans anew at the next frame: model-predictive
/// control. What stands still stays where it is (`Handling`), and a pan that stops is not passed by more
/// than a little (`PathPlanner+Pan`).
///
/// The step that the shown picture makes between two frames is S = C M C'⁻¹, where M is the camera's
/// motion and C' and C are `stabilizedFromSensor` before and after. S is chosen, and C follows from it, so
/// that a turn of the window does not leak into its shifts. Scale is never corrected.
///
/// A pure value: the same motions give the same path. Times are in ticks of 1/30 s, never in frames. All
/// memory is taken by `init`.
struct PathPlanner {
  let window: CropWindow
  /// Where the window is.
  private(set) var pose = Pose.zero
  /// Of what the window shows, per tick, along the window's own sides; and of which step.
  private var velocity = Pose.zero
  private var velocityTicks = 0.0
  /// Sums of the camera's motions, and of those that are left, since the latest start.
  private(set) var path = Pose.zero
  private(set) var smoothPath = Pose.zero
  var predictor = ShakePredictor()
  var handling = Handling()
  /// Intended velocity per tick at the end of what is known.
  var intent = Pose.zero
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
    let seen = Sight(motion, &clock, &predictor, window)
    predictor.mark()
    handling.add(seen.displacement, ticks: seen.ticks, width: window.width)
    foresee(seen, ahead)
    move(to: plan(), from: seen.carry(pose), seen.ticks)
    path += seen.displacement
    return stabilizedFromSensor
  }

  static func continues(_ motion: FrameMotion) -> Bool {
    motion.comparison == .tracked || motion.comparison == .blank
  }

  /// Whether all that the next frame builds on is a number.
  var isFinite: Bool {
    (pose + velocity + path + smoothPath + intent).sum().isFinite && handling.shakiness.isFinite
      && predictor.displacement.sum().isFinite
  }

  /// Forgets all motions.
  mutating func restart() {
    pose = .zero
    (velocity, velocityTicks) = (.zero, 0)
    (path, smoothPath) = (.zero, .zero)
    predictor = ShakePredictor()
    handling = Handling()
    (intent, clock) = (.zero, FrameClock())
    horizon.restart()
  }

  /// Where the window had best be now.
  private mutating func plan() -> Pose {
    let (count, known) = (horizon.count, horizon.known)
    for index in 0..<count { pathRoll.knots[index].margin = window.mostRoll }
    horizon.fill(&pathRoll, axis: 2, pull: handling.steadiness, lag: 0)
    pathRoll.solve(count, velocity: velocity[2], before: velocityTicks)
    for index in 0..<count {
      let knot = pathRoll.knots[index]
      let (x, y) = window.margins(roll: window.clampedRoll(knot.middle - knot.path))
      // A guess may not keep from using what is known to be there.
      let keep = index < known ? 0.99 : 0.97
      (pathX.knots[index].margin, pathY.knots[index].margin) = (keep * x, keep * y)
    }
    let margin = Pose(pathX.knots[0].margin, pathY.knots[0].margin, 0)
    let lag = panLag(margin)
    let turned = window.clampedRoll(pathRoll.knots[0].middle - pathRoll.knots[0].path)
    let (x, y) = Self.turn(velocity, by: turned)
    horizon.fill(&pathX, axis: 0, pull: handling.steadiness, lag: lag[0])
    pathX.solve(count, velocity: x, before: velocityTicks)
    horizon.fill(&pathY, axis: 1, pull: handling.steadiness, lag: lag[1])
    pathY.solve(count, velocity: y, before: velocityTicks)
    let step = Pose(
      braked(pathX.knots[0].path, axis: 0, margin: margin[0]),
      braked(pathY.knots[0].path, axis: 1, margin: margin[1]), pathRoll.knots[0].path)
    return horizon.knots[0].held - step
  }

  /// `held` is where the window would be if it stayed with the scene.
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
