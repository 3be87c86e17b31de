/// What lies ahead: first the motions that are known, then what is foretold.
struct Horizon {
  struct Knot {
    var ticks = 1.0
    /// Where the window would be if from now on it stayed with the scene.
    var held = Pose.zero
    /// How little is known of it: standard deviation.
    var spread = Pose.zero
    /// Where the window is meant to be.
    var planned = Pose.zero
  }

  var knots: [Knot]
  /// Knots that are in use, and those of them that are known.
  private(set) var count = 0
  private(set) var known = 0

  /// How far one looks at least, with what is known and what is foretold: 1.3 s.
  private static let span = 40.0
  private static let foretoldKnots = 40

  /// Weights of `SmoothestPath`, for times in ticks. A known wall is nearly hard.
  private static let knownWall = 30.0
  private static let foretoldWall = 0.4
  /// Of the foretold standard deviation: every frame brings another chance to mend.
  private static let spreadShare = 0.35
  /// Draws the window to the middle within seconds.
  private static let pull = 1e-4

  init(lookahead: Int) {
    knots = [Knot](repeating: Knot(), count: lookahead + 1 + Self.foretoldKnots)
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

  /// Adds what `predictor` foretells for the rest of the span.
  mutating func foretell(_ predictor: ShakePredictor, usualTicks: Double) {
    var predictor = predictor
    let rest = max(Self.span - Double(known) * usualTicks, Self.span / 2)
    let ticks = max(usualTicks, rest / Double(Self.foretoldKnots))
    let times = min(Self.foretoldKnots, max(8, Int((rest / ticks).rounded(.up))))
    let last = knots[known - 1].held
    predictor.coast(ticks, times: times) { time, predictor in
      let index = known + time
      knots[index].ticks = ticks
      knots[index].held = last + predictor.displacement
      knots[index].spread = predictor.standardDeviation * Self.spreadShare
    }
    count = known + times
  }

  /// Poses the problem of one axis; margins are set already.
  func fill(_ path: inout SmoothestPath, axis: Int, pull: Double, lag: Double) {
    (path.pull, path.lag) = (pull + Self.pull, lag)
    for index in 0..<count {
      path.knots[index].ticks = knots[index].ticks
      path.knots[index].middle = knots[index].held[axis]
      path.knots[index].spread = knots[index].spread[axis]
      path.knots[index].wall = index < known ? Self.knownWall : Self.foretoldWall
      // Begins where the last plan would have it.
      let planned = knots[min(index + 1, count - 1)].planned[axis]
      path.knots[index].path = knots[index].held[axis] - planned
    }
  }

  mutating func keep(_ x: SmoothestPath, _ y: SmoothestPath, _ roll: SmoothestPath) {
    for index in 0..<count {
      let path = Pose(x.knots[index].path, y.knots[index].path, roll.knots[index].path)
      knots[index].planned = knots[index].held - path
    }
  }
}

extension PathPlanner {
  /// Fills the horizon. It ends where another scene begins.
  mutating func foresee(_ seen: Sight, _ ahead: [FrameMotion]) {
    horizon.begin()
    intent = .zero
    var held = seen.carry(pose)
    horizon.addKnown(held, ticks: seen.ticks)
    var (future, later, handled) = (predictor, clock, handling)
    for motion in ahead {
      guard Self.continues(motion) else { return }
      let seen = Sight(motion, &later, &future, window)
      future.mark()
      handled.add(seen.displacement, ticks: seen.ticks, width: window.width)
      handling.expect(handled)
      // Turns and scales about where the window will be by then.
      let planned = horizon.knots[horizon.count].planned
      held += seen.carry(planned) - planned
      horizon.addKnown(held, ticks: seen.ticks)
    }
    horizon.foretell(future, usualTicks: max(clock.usualTicks, 0.1))
    intent = future.intent
  }
}
