/// The camera's motion from one frame to the next: the measurement, blended with the prediction if confidence
/// is low.
struct MotionEstimate {
  let ticks: Double
  /// Shift of the picture's middle, and its roll.
  let displacement: Pose
  private let similarity: Similarity
  /// Weight of the measurement, 0 to 1; the rest is the prediction's.
  private let weight: Double
  private let predicted: Pose

  /// Confidence from which the measurement is used alone. Larger: more of the prediction is used. By trial:
  /// 1 of 2,279 frames of the clips has less.
  private static let fullConfidence = 0.2

  /// Passes `motion` on to `clock` and `predictor`.
  init(
    _ motion: FrameMotion, _ clock: inout FrameClock, _ predictor: inout ShakePredictor,
    _ window: CropWindow
  ) {
    ticks = clock.ticks(motion.seconds)
    predictor.coast(ticks)
    predicted = predictor.displacement
    similarity = motion.fromEarlier
    let measured = Pose(similarity.shiftX, similarity.shiftY, similarity.roll)
    // No camera moves by two pictures between frames, and no estimator could measure it.
    let limit = 2 * (window.width + window.height)
    let isMeasured =
      motion.comparison == .tracked && similarity.isFinite
      && max(abs(measured[0]), abs(measured[1])) < limit
    weight = isMeasured ? min(1, max(0, motion.confidence / Self.fullConfidence)) : 0
    if weight > 0 {
      predictor.observe(measured, ticks: ticks, confidence: motion.confidence)
      displacement = predicted + (measured - predicted) * weight
    } else {
      displacement = predicted
    }
  }

  /// The pose of a window that stays with the scene.
  func carry(_ pose: Pose) -> Pose {
    guard weight > 0 else { return pose + predicted }
    let (x, y) = similarity.apply(pose[0], pose[1])
    let measured = Pose(x, y, pose[2] + similarity.roll)
    return pose + predicted + (measured - pose - predicted) * weight
  }
}
