internal import Glibc

/// How the camera is handled: whether it stands still, and whether it only pans.
struct Handling {
  /// Pixels at 640 width per frame: what estimators see of a standing camera is below half of it.
  private static let stillLimit = 0.1
  /// Over which motions are averaged.
  private static let stillTicks = 20.0
  private static let travelTicks = 30.0

  /// Mean square of the displacements per frame, in squared pixels at 640 width.
  private(set) var activity = 0.0
  /// The most that will be, as far as is known.
  private var expected = 0.0
  private var lastSquare = 0.0
  /// Recent ways to the right and down, and to the left and up, in pixels and radians.
  private var forward = Pose.zero
  private var backward = Pose.zero

  /// How far the camera went to and fro of late: 0 for a steady pan.
  var backAndForth: Pose { pointwiseMin(forward, backward) }

  /// By how much corrections are pulled back to none: hardly while the camera is held by hand, so
  /// strongly while it stands that noise does not move the picture. Per tick to the fourth.
  var stillness: Double {
    let ratio = max(activity, expected) / (Self.stillLimit * Self.stillLimit)
    return 0.01 / max(ratio * ratio * ratio, 1e-6)
  }

  mutating func add(_ displacement: Pose, ticks: Double, width: Double) {
    let turn = displacement[2] * width / 2
    let unit = 640 / width
    let square =
      unit * unit
      * (displacement[0] * displacement[0] + displacement[1] * displacement[1] + turn * turn)
    // One motion alone is doubtful: hands do not rest in between.
    activity += (min(square, lastSquare) - activity) * (1 - exp(-ticks / Self.stillTicks))
    lastSquare = square
    expected = 0
    let keep = exp(-ticks / Self.travelTicks)
    forward = forward * keep + pointwiseMax(displacement, .zero)
    backward = backward * keep + pointwiseMax(-displacement, .zero)
  }

  /// As it will be after a later motion.
  mutating func expect(_ later: Handling) { expected = max(expected, later.activity) }
}
