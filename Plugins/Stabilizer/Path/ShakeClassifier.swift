internal import Glibc

/// Classifies the camera's motion: shaken by hand, or standing still and panning smoothly.
///
/// Shake reverses; a pan starts, goes on and ends, over a second or more. So only changes of velocity that
/// are reversed soon count as shake: a pan that starts smoothly on a tripod is none.
///
/// Lengths are in pixels at a width of 640, times in ticks of 1/30 s.
struct ShakeClassifier {
  /// RMS change of velocity, reversed, at which a camera is between steady and shaking, in pixels per tick.
  /// Larger: more footage is followed as it is, less is smoothed. Measured: standing cameras and gimbals
  /// stay below 0.05 to 0.1, hands make 0.25 to 3.
  private static let steadyLimit = 0.14
  /// Time within which a change of velocity counts as reversed, in ticks. Larger: slow sways and the ends of
  /// pans count as shake. By trial: 0.4 s, about half a period of hand shake.
  private static let returnTicks = 12.0
  /// Time over which shake is averaged, in ticks. Larger: a camera that is put down is recognised later, a
  /// pause of the hand disturbs less. By trial.
  private static let memoryTicks = 40.0
  /// Least time between two velocities, in ticks: each frame's at 40 frames/s, every second's at 60. Larger:
  /// noise counts less, fast shake is missed. By trial at 60 and 120 frames/s.
  private static let leastTicks = 0.7
  /// Longest time between frames by which velocities are told, in ticks: 21 frames/s. Beyond it they are told
  /// by frames: what sways slowly jerks from frame to frame. Larger: shake at low frame rates is taken for
  /// intent. By trial on clips of 10 and 15 frames/s.
  private static let mostTicks = 1.4
  /// Weight of the initial `shakiness` of 1, the limit between steady and shaking, in its average, in ticks.
  /// Larger: a tripod, and a shaking hand, are recognised later. By trial.
  private static let doubtTicks = 5.0
  /// Time over which `swing` fades, in ticks. Larger: a pan after shake is followed later. By trial.
  private static let swingTicks = 30.0

  /// Mean square of the reversed changes of velocity, in units of `steadyLimit` squared. 1 at first, when
  /// nothing is known.
  private(set) var shakiness = 1.0
  /// The largest value of `shakiness` in the known future.
  private var expected = 0.0
  /// Motion since the latest velocity.
  private var step = Pose.zero
  private var stepTicks = 0.0
  private var velocity: Pose?
  /// Recent changes of velocity to the right and down, and to the left and up, times how long they lasted,
  /// and the time that they cover. All fade.
  private var rise = Pose.zero
  private var fall = Pose.zero
  private var span = 0.0
  /// Ticks since the start.
  private var watched = 0.0
  /// Recent distances to the right and down, and to the left and up, in pixels and radians. Both fade.
  private var forward = Pose.zero
  private var backward = Pose.zero

  /// Distance that the camera recently went to and fro, in pixels and radians: 0 in a steady pan.
  var swing: Pose { pointwiseMin(forward, backward) }

  /// Strength of the pull to no correction, per tick to the fourth: hardly any for shaking hands. For a
  /// steady camera it is so strong that neither noise nor depth in the scene is corrected.
  ///
  /// 0.01 is the pull at the limit; the cube makes the change from free to held abrupt. Larger: gimbal
  /// footage is left as it is, hand-held footage is smoothed less. By trial on `max-heromode.mp4`.
  var pull: Double {
    let ratio = max(shakiness, expected)
    return 0.01 / max(ratio * ratio * ratio, 1e-6)
  }

  /// 0 for shaking hands to 1 for a steady camera, whose picture is shown where the camera looks.
  var steadyShare: Double { pull / (pull + 1e-3) }

  /// For pictures `width` wide, of which the usual ones are `usual` ticks apart.
  mutating func add(_ displacement: Pose, ticks: Double, width: Double, usual: Double) {
    expected = 0
    // Where frames are rarer, all times count as if they were not.
    let ticks = ticks * min(1, Self.mostTicks / max(usual, Self.mostTicks))
    let keep = exp(-ticks / Self.swingTicks)
    forward = forward * keep + pointwiseMax(displacement, .zero)
    backward = backward * keep + pointwiseMax(-displacement, .zero)
    // A roll of 1/320 counts as a pixel: so far does it move the middle of a side.
    step += Pose(640 / width, 640 / width, 320) * displacement
    stepTicks += ticks
    guard stepTicks > Self.leastTicks else { return }
    addVelocity(step / stepTicks, after: stepTicks)
    (step, stepTicks) = (.zero, 0)
  }

  private mutating func addVelocity(_ next: Pose, after ticks: Double) {
    let change = velocity.map { next - $0 } ?? .zero
    velocity = next
    // Where frames are rare, it takes some of them to reverse.
    let fade = exp(-ticks / max(Self.returnTicks, 3 * ticks))
    rise = rise * fade + ticks * pointwiseMax(change, .zero)
    fall = fall * fade + ticks * pointwiseMax(-change, .zero)
    span = span * fade + ticks
    watched += ticks
    let less = pointwiseMin(rise, fall)
    // At first there was no time yet for the rest to be reversed: it counts, too.
    let rest = (pointwiseMax(rise, fall) - less) * exp(-watched / Self.returnTicks)
    let reversed = (2 * less + rest) / span
    let limit = Self.steadyLimit * Self.steadyLimit
    let share = min(1, ticks / min(watched + Self.doubtTicks, Self.memoryTicks))
    shakiness += ((reversed * reversed).sum() / limit - shakiness) * share
  }

  /// Takes into account the classifier's state after a later, known motion.
  mutating func expect(_ later: ShakeClassifier) { expected = max(expected, later.shakiness) }
}
