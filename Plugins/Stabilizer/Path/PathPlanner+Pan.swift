extension PathPlanner {
  /// Deceleration of a path that has to stop, in pixels at a width of 640 per squared tick. Larger: pans are
  /// followed faster and stop harder. A gentle stop, by trial.
  private static let brake = 0.3
  /// Fraction of the margin that a pan may use, 0 to 1; the brake is harder where it would need more. Larger:
  /// gentler stops, closer to the crop's edge. By trial.
  private static let panShare = 0.7
  /// Distance by which the end of a pan may be passed, as a fraction of the width. Larger: freer paths; up to
  /// about a pixel it does not show.
  private static let passing = 0.0015

  /// Time by which a steady path may run ahead at its speed, in ticks: its strong pull to the middle stops
  /// it. Larger: gimbal footage is limited less. By trial on `max-heromode.mp4`.
  private static let steadyTicks = 10.0

  /// The distance that the path keeps behind a pan, so that it can stop when the pan stops.
  func panLag(_ margin: Pose) -> Pose {
    var lag = Pose.zero
    for axis in 0..<2 {
      let speed = abs(intent[axis])
      let way = speed * speed / (2 * Self.brake * window.width / 640)
      let known = speed * Double(horizon.known - 1) * clock.usualTicks
      let length =
        max(0, min(way, Self.panShare * margin[axis]) - known) * (1 - classifier.steadyShare)
      lag[axis] = intent[axis] < 0 ? -length : length
    }
    return lag
  }

  /// Limits `step` to a speed from which the path can still stop where the camera is last known to look; as
  /// far as a shaking camera swings, it may go beyond. So the end of a pan is not passed by much.
  func braked(_ step: Double, axis: Int, margin: Double) -> Double {
    guard step != 0, margin > 0 else { return step }
    let sign = step < 0 ? -1.0 : 1.0
    var way = -Double.infinity
    for index in 0..<horizon.known { way = max(way, sign * horizon.knots[index].held[axis]) }
    way += Self.passing * window.width + classifier.swing[axis]
    let ticks = horizon.knots[0].ticks
    let speed = abs(step) / ticks
    // A strong pull to the middle stops a steady path soon.
    way += classifier.steadyShare * Self.steadyTicks * speed
    guard way > 0 else { return 0 }
    let brake = max(Self.brake * window.width / 640, speed * speed / (2 * Self.panShare * margin))
    // Solves v ticks + v² / (2 brake) = way for v.
    let most = brake * ((ticks * ticks + 2 * way / brake).squareRoot() - ticks)
    return sign * min(abs(step), most * ticks)
  }
}
