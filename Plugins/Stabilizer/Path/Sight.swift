/// What is believed of a motion: where it is doubtful, what was foretold.
struct Sight {
  let ticks: Double
  /// Of the picture's middle, and its roll.
  let displacement: Pose
  private let similarity: Similarity
  private let trust: Double
  private let foretold: Pose

  /// Trusted wholly from there on.
  private static let trusted = 0.2

  /// Tells `clock` and `predictor` what was seen.
  init(
    _ motion: FrameMotion, _ clock: inout FrameClock, _ predictor: inout ShakePredictor,
    _ window: CropWindow
  ) {
    ticks = clock.ticks(motion.seconds)
    predictor.coast(ticks)
    foretold = predictor.displacement
    similarity = motion.fromEarlier
    let seen = Pose(similarity.shiftX, similarity.shiftY, similarity.roll)
    // No camera moves by two pictures, and no one can see it.
    let limit = 2 * (window.width + window.height)
    let isSeen =
      motion.comparison == .tracked && similarity.isFinite
      && max(abs(seen[0]), abs(seen[1])) < limit
    trust = isSeen ? min(1, max(0, motion.confidence / Self.trusted)) : 0
    if trust > 0 {
      predictor.observe(seen, ticks: ticks, confidence: motion.confidence)
      displacement = foretold + (seen - foretold) * trust
    } else {
      displacement = foretold
    }
  }

  /// Where a window that stays with the scene goes.
  func carry(_ pose: Pose) -> Pose {
    guard trust > 0 else { return pose + foretold }
    let (x, y) = similarity.apply(pose[0], pose[1])
    let seen = Pose(x, y, pose[2] + similarity.roll)
    return pose + foretold + (seen - pose - foretold) * trust
  }
}
