extension PathPlanner {
  /// Deceleration of a path that has to stop, in pixels at a width of 640 per squared tick. Larger: pans are
  /// followed faster and stop harder. A gentle stop, by trial.
  private static let brake = 0.3
  /// Part of the margin that a stop may use, 0 to 1; the brake is harder where it would need more. Larger:
  /// gentler stops, closer to the crop's edge. By trial.
  private static let brakeShare = 0.7
  /// Time by which a steady path may run ahead at its speed, in ticks: its strong pull to the middle stops
  /// it. Larger: gimbal footage is limited less. By trial on `max-heromode.mp4`.
  private static let steadyTicks = 10.0

  /// Limits `step` to a speed from which the path can still stop where the camera is last known to look; as
  /// far as a shaking camera swings, it may go beyond. So the end of a pan is not passed by much.
  func braked(_ step: Double, axis: Int, margin: Double) -> Double {
    guard step != 0, margin > 0 else { return step }
    let sign = step < 0 ? -1.0 : 1.0
    var way = -Double.infinity
    for index in 0..<horizon.known { way = max(way, sign * horizon.knots[index].held[axis]) }
    let ticks = horizon.knots[0].ticks
    let speed = abs(step) / ticks
    way += classifier.swing[axis] + classifier.steadyShare * Self.steadyTicks * speed
    guard way > 0 else { return 0 }
    let brake = max(Self.brake * window.width / 640, speed * speed / (2 * Self.brakeShare * margin))
    // Solves v ticks + v² / (2 brake) = way for v.
    let most = brake * ((ticks * ticks + 2 * way / brake).squareRoot() - ticks)
    return sign * min(abs(step), most * ticks)
  }
}
