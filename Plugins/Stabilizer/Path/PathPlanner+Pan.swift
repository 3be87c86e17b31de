extension PathPlanner {
  /// Pixels per squared tick at 640 width: a gentle stop.
  private static let brake = 0.3
  /// Of the margin, what a pan may use.
  private static let panShare = 0.7
  /// Of the width: passing the end of a pan by as much is not seen.
  private static let passing = 0.0015

  /// A steady path may look that far ahead, at its speed.
  private static let steadyTicks = 10.0

  /// How far the path had better be behind a pan, so that it can stop when the pan does.
  func panLag(_ margin: Pose) -> Pose {
    var lag = Pose.zero
    for axis in 0..<2 {
      let speed = abs(intent[axis])
      let way = speed * speed / (2 * Self.brake * window.width / 640)
      let known = speed * Double(horizon.known - 1) * clock.usualTicks
      let length =
        max(0, min(way, Self.panShare * margin[axis]) - known) * (1 - handling.steadyShare)
      lag[axis] = intent[axis] < 0 ? -length : length
    }
    return lag
  }

  /// A step that is not faster than that the path can stop where the camera is last known to look, and
  /// some way behind that if it goes to and fro: shake is no pan.
  func braked(_ step: Double, axis: Int, margin: Double) -> Double {
    guard step != 0, margin > 0 else { return step }
    let sign = step < 0 ? -1.0 : 1.0
    var way = -Double.infinity
    for index in 0..<horizon.known { way = max(way, sign * horizon.knots[index].held[axis]) }
    way += Self.passing * window.width + handling.backAndForth[axis]
    let ticks = horizon.knots[0].ticks
    let speed = abs(step) / ticks
    // What is drawn to the middle strongly does not go far beyond it.
    way += handling.steadyShare * Self.steadyTicks * speed
    guard way > 0 else { return 0 }
    let brake = max(Self.brake * window.width / 640, speed * speed / (2 * Self.panShare * margin))
    // v ticks + v² / (2 brake) = way
    let most = brake * ((ticks * ticks + 2 * way / brake).squareRoot() - ticks)
    return sign * min(abs(step), most * ticks)
  }
}
