/// The frames that a plan covers: first the known ones, then predicted ones.
struct Horizon {
  struct Knot {
    /// Ticks since the knot before.
    var ticks = 1.0
    /// Pose of a window that stays with the scene from now on.
    var held = Pose.zero
    /// Standard deviation of `held`; 0 where it is known.
    var spread = Pose.zero
    /// The window's pose in the latest plan.
    var planned = Pose.zero
  }

  var knots: [Knot]
  /// Knots that are in use, and those of them that are known.
  private(set) var count = 0
  private(set) var known = 0

  /// Least length of the horizon in ticks, known and predicted: 1.3 s. Larger: the path gives way earlier
  /// before it reaches the crop's edge. By trial: half as much passes the ends of pans by a third more.
  private static let span = 40.0
  /// Most predicted knots. Larger: costs more; with the span, a knot per tick.
  private static let predictedKnots = 40

  /// Weight of leaving the crop in a known frame, in `SmoothestPath`, per tick to the fourth. Larger: a
  /// harder wall. It is nearly hard: the window is clamped to the crop anyway.
  private static let knownWall = 30.0
  /// The same in a predicted frame. Larger: the path gives way to motion that may not come; at `knownWall`,
  /// `standard` has up to three times the jitter.
  private static let predictedWall = 0.4
  /// Fraction of the predicted standard deviation that is used; the plan is made anew every frame. Larger:
  /// the path keeps further from the crop's edge. By trial on `test.avi`, see the README.
  private static let spreadShare = 0.35
  /// Least pull of the window to the middle, per tick to the fourth. Larger: it returns sooner, less is
  /// smoothed. It takes 10 ticks (pull to the power of -1/4), at least, and some seconds under shake.
  static let leastPull = 1e-4

  init(lookahead: Int) {
    knots = [Knot](repeating: Knot(), count: lookahead + 1 + Self.predictedKnots)
  }

  mutating func restart() {
    for index in knots.indices { knots[index].planned = .zero }
  }

  mutating func begin() { (count, known) = (0, 0) }

  mutating func addKnown(_ held: Pose, ticks: Double) {
    knots[count].ticks = ticks
    knots[count].held = held
    knots[count].spread = .zero
    count += 1
    known = count
  }

  /// Adds predicted frames for the rest of the span.
  mutating func predict(_ predictor: ShakePredictor, usualTicks: Double) {
    var predictor = predictor
    let rest = max(Self.span - Double(known) * usualTicks, Self.span / 2)
    let ticks = max(usualTicks, rest / Double(Self.predictedKnots))
    let times = min(Self.predictedKnots, max(8, Int((rest / ticks).rounded(.up))))
    let last = knots[known - 1].held
    predictor.coast(ticks, times: times) { time, predictor in
      let index = known + time
      knots[index].ticks = ticks
      knots[index].held = last + predictor.displacement
      knots[index].spread = predictor.standardDeviation * Self.spreadShare
    }
    count = known + times
  }

  /// Sets up the problem of one axis, except the margins.
  func fill(_ path: inout SmoothestPath, axis: Int, pull: Double, lag: Double) {
    (path.pull, path.lag) = (pull, lag)
    for index in 0..<count {
      path.knots[index].ticks = knots[index].ticks
      path.knots[index].middle = knots[index].held[axis]
      path.knots[index].spread = knots[index].spread[axis]
      path.knots[index].wall = index < known ? Self.knownWall : Self.predictedWall
      // Newton's method begins at the latest plan.
      let planned = knots[min(index + 1, count - 1)].planned[axis]
      path.knots[index].path = knots[index].held[axis] - planned
    }
  }

  /// Stores the poses of a plan.
  mutating func keep(_ x: SmoothestPath, _ y: SmoothestPath, _ roll: SmoothestPath) {
    for index in 0..<count {
      let path = Pose(x.knots[index].path, y.knots[index].path, roll.knots[index].path)
      knots[index].planned = knots[index].held - path
    }
  }
}

extension PathPlanner {
  /// Fills the horizon from a window that is at `held` if it stays with the scene, `ticks` after the latest
  /// frame. It ends where another scene begins, or the scene is out of sight for a while.
  mutating func fillHorizon(_ held: Pose, ticks: Double) {
    horizon.begin()
    intent = .zero
    var held = held
    horizon.addKnown(held, ticks: ticks)
    var (future, later, laterClassifier) = (predictor, clock, classifier)
    var isUnknown = false
    for index in 1..<max(motions.count, 1) {
      guard Self.continues(motions[index]) else { return }
      let estimate = MotionEstimate(motions[index], &later, &future, window)
      if isUnknown && estimate.weight == 0 { return }
      isUnknown = estimate.weight == 0
      laterClassifier.add(
        estimate.displacement, ticks: estimate.ticks, width: window.width, usual: clock.usualTicks)
      classifier.expect(laterClassifier)
      // Roll and scale apply about the planned position of the window.
      let planned = horizon.knots[horizon.count].planned
      held += estimate.carry(planned) - planned
      horizon.addKnown(held, ticks: estimate.ticks)
    }
    horizon.predict(future, usualTicks: max(clock.usualTicks, 0.1))
    intent = future.intent
  }
}
