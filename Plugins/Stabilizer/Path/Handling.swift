internal import Glibc

/// How the camera is handled: how much it shakes, and whether it only pans.
///
/// Shake goes to and fro; a pan starts, goes on and ends, in a second or more. So what counts of changes of
/// velocity is what is taken back soon: a pan that starts smoothly on a tripod is no shake.
struct Handling {
  /// Changes of velocity that are taken back, of that size, pixels at 640 width per tick, are between
  /// what is seen of standing cameras and gimbals, below a twentieth to a tenth, and what hands do, 0.25
  /// to 3.
  private static let steadyLimit = 0.14
  /// Within which a change counts as taken back: 0.4 s.
  private static let returnTicks = 12.0
  /// Over which what is taken back is averaged.
  private static let memoryTicks = 40.0
  /// From which on there is a velocity to speak of: each frame's at 40 a second, every other's at 60.
  private static let leastTicks = 0.7
  /// By how much time a camera is taken for one held by hand beforehand.
  private static let doubtTicks = 5.0
  private static let travelTicks = 30.0

  /// Mean square of the changes of velocity that are taken back, as a share of that of the limit. At
  /// first it is not known whether the camera is held by hand.
  private(set) var shakiness = 1.0
  /// The most that will be, as far as is known.
  private var expected = 0.0
  /// Since the latest velocity, in pixels at 640 width.
  private var step = Pose.zero
  private var stepTicks = 0.0
  private var velocity: Pose?
  /// Recent changes of velocity to the right and down, and to the left and up, by how long they lasted;
  /// and the time that they cover. All fade.
  private var rise = Pose.zero
  private var fall = Pose.zero
  private var span = 0.0
  /// Ticks since the start.
  private var watched = 0.0
  /// Recent ways to the right and down, and to the left and up, in pixels and radians.
  private var forward = Pose.zero
  private var backward = Pose.zero

  /// How far the camera went to and fro of late: 0 for a steady pan.
  var backAndForth: Pose { pointwiseMin(forward, backward) }

  /// By how much corrections are pulled back to none, per tick to the fourth: hardly in shaking hands;
  /// while the camera stands or glides so strongly that neither noise nor the picture's own depth is
  /// taken for shake, and that the picture is where the camera looks.
  var steadiness: Double {
    let ratio = max(shakiness, expected)
    return 0.01 / max(ratio * ratio * ratio, 1e-6)
  }

  /// 0 for hands, 1 for what glides so steadily that the picture is where the camera looks anyway.
  var steadyShare: Double { steadiness / (steadiness + 1e-3) }

  /// For pictures `width` wide.
  mutating func add(_ displacement: Pose, ticks: Double, width: Double) {
    expected = 0
    let keep = exp(-ticks / Self.travelTicks)
    forward = forward * keep + pointwiseMax(displacement, .zero)
    backward = backward * keep + pointwiseMax(-displacement, .zero)
    step += Pose(640 / width, 640 / width, 320) * displacement
    stepTicks += ticks
    // What lies closer together tells more of noise than of velocity.
    guard stepTicks > Self.leastTicks else { return }
    judge(step / stepTicks, after: stepTicks)
    (step, stepTicks) = (.zero, 0)
  }

  private mutating func judge(_ next: Pose, after ticks: Double) {
    let change = velocity.map { next - $0 } ?? .zero
    velocity = next
    // Where frames are rare, it takes some of them to come back.
    let fade = exp(-ticks / max(Self.returnTicks, 3 * ticks))
    rise = rise * fade + ticks * pointwiseMax(change, .zero)
    fall = fall * fade + ticks * pointwiseMax(-change, .zero)
    span = span * fade + ticks
    watched += ticks
    let less = pointwiseMin(rise, fall)
    // At first there was no time for the rest to be taken back.
    let rest = (pointwiseMax(rise, fall) - less) * exp(-watched / Self.returnTicks)
    let takenBack = (2 * less + rest) / span
    let limit = Self.steadyLimit * Self.steadyLimit
    let share = min(1, ticks / min(watched + Self.doubtTicks, Self.memoryTicks))
    shakiness += ((takenBack * takenBack).sum() / limit - shakiness) * share
  }

  /// As it will be after a later motion.
  mutating func expect(_ later: Handling) { expected = max(expected, later.shakiness) }
}
