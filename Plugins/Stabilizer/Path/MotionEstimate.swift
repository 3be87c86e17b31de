/// The camera's motion from one frame to the next: as measured, or as predicted where nothing was measured.
struct MotionEstimate {
  let ticks: Double
  /// Shift of the picture's middle, and its roll.
  let displacement: Pose
  /// `nil` where nothing was measured.
  private let measured: Similarity?

  /// Passes `motion` on to `clock` and `predictor`.
  init(
    _ motion: FrameMotion, _ clock: inout FrameClock, _ predictor: inout ShakePredictor,
    _ window: CropWindow
  ) {
    ticks = clock.ticks(motion.seconds)
    predictor.coast(ticks)
    let similarity = motion.fromEarlier
    let seen = Pose(similarity.shiftX, similarity.shiftY, similarity.roll)
    // No camera moves by two pictures between frames, and no estimator could measure it.
    let limit = 2 * (window.width + window.height)
    guard motion.comparison == .tracked, motion.confidence > 0, similarity.isFinite,
      max(abs(seen[0]), abs(seen[1])) < limit
    else {
      (displacement, measured) = (predictor.displacement, nil)
      return
    }
    predictor.observe(seen, ticks: ticks, confidence: motion.confidence)
    (displacement, measured) = (seen, similarity)
  }

  /// The pose of a window that stays with the scene.
  func carry(_ pose: Pose) -> Pose {
    guard let measured else { return pose + displacement }
    let (x, y) = measured.apply(pose[0], pose[1])
    return Pose(x, y, pose[2] + measured.roll)
  }
}
