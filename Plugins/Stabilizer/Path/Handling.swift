internal import Glibc

/// How the camera is handled: how much it shakes, and whether it only pans.
struct Handling {
  /// Changes of velocity of that size, pixels at 640 width per tick, are between what is seen of
  /// standing cameras and gimbals, below a tenth to 0.2, and what hands do, 0.5 to 5.
  private static let steadyLimit = 0.25
  /// Over which changes of velocity are averaged.
  private static let memoryTicks = 20.0
  private static let travelTicks = 30.0

  /// Mean square of the changes of velocity from frame to frame, as a share of that of the limit. At
  /// first it is not known whether the camera is held by hand.
  private(set) var shakiness = 1.0
  /// The most that will be, as far as is known.
  private var expected = 0.0
  private var velocity = Pose.zero
  private var isMoving = false
  private var lastSquare = 0.0
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
    return 0.01 / max(ratio * ratio * ratio * ratio, 1e-6)
  }

  /// 0 for hands, 1 for what glides so steadily that the picture is where the camera looks anyway.
  var steadyShare: Double { steadiness / (steadiness + 1e-3) }

  /// For pictures `width` wide.
  mutating func add(_ displacement: Pose, ticks: Double, width: Double) {
    let unit = Pose(640 / width, 640 / width, 320)
    // In pixels per tick, or per frame where frames are rarer.
    let change = unit * (displacement / ticks - velocity) * max(1, ticks)
    let square = isMoving ? (change * change).sum() : 0
    velocity = displacement / ticks
    isMoving = true
    // One change alone is doubtful: hands do not rest in between.
    let limit = Self.steadyLimit * Self.steadyLimit
    let fade = exp(-ticks / Self.memoryTicks)
    shakiness += (min(square, lastSquare) / limit - shakiness) * (1 - fade)
    lastSquare = square
    expected = 0
    let keep = exp(-ticks / Self.travelTicks)
    forward = forward * keep + pointwiseMax(displacement, .zero)
    backward = backward * keep + pointwiseMax(-displacement, .zero)
  }

  /// As it will be after a later motion.
  mutating func expect(_ later: Handling) { expected = max(expected, later.shakiness) }
}
