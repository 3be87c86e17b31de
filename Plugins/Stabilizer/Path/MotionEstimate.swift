/// The camera's motion from one frame to the next: the measurement, blended with the prediction if confidence
/// is low.
struct MotionEstimate {
  let ticks: Double
  /// Shift of the picture's middle, and its roll.
  let displacement: Pose
  private let similarity: Similarity
  /// Weight of the measurement, 0 to 1; the rest is the prediction's.
  let weight: Double
  private let predicted: Pose

  /// Passes `motion` on to `clock` and `predictor`.
  init(
    _ motion: FrameMotion, _ clock: inout FrameClock, _ predictor: inout ShakePredictor,
    _ window: CropWindow
  ) {
    ticks = clock.ticks(motion.seconds)
    predictor.coast(ticks)
    predicted = predictor.displacement
    similarity = motion.fromEarlier
    weight = motion.weight(against: predictor.standardDeviation, window)
    if weight > 0 {
      let measured = similarity.pose
      predictor.observe(measured, ticks: ticks, confidence: motion.confidence)
      displacement = predicted + (measured - predicted) * weight
      predictor.mark()
    } else {
      displacement = predicted
      predictor.skip(ticks)
    }
  }

  /// The motion that is taken for the camera's.
  var step: MotionBridge.Step {
    let predicted = Similarity(shiftX: predicted[0], shiftY: predicted[1], roll: predicted[2])
    guard weight > 0 else { return MotionBridge.Step(motion: predicted) }
    return MotionBridge.Step(
      motion: .blend(predicted, similarity, weight), seconds: 0, weight: weight)
  }

  /// The pose of a window that stays with the scene.
  func carry(_ pose: Pose) -> Pose {
    guard weight > 0 else { return pose + predicted }
    let (x, y) = similarity.apply(pose[0], pose[1])
    let measured = Pose(x, y, pose[2] + similarity.roll)
    return pose + predicted + (measured - pose - predicted) * weight
  }
}

extension FrameMotion {
  /// Confidence from which the measurement is used alone. Larger: more of the prediction is used in blurred
  /// frames. By trial; sharp frames have more.
  private static let fullConfidence = 0.5

  /// Weight of the measurement, 0 to 1, beside a prediction with standard deviations of `spread`: by the
  /// inverse of their variances, the measurement's counted from `fullConfidence` on.
  func weight(against spread: @autoclosure () -> Pose, _ window: CropWindow) -> Double {
    // No camera moves by two pictures between frames, and no estimator could measure it.
    let limit = 2 * (window.width + window.height)
    let (x, y) = (fromEarlier.shiftX, fromEarlier.shiftY)
    guard comparison == .tracked, fromEarlier.isFinite, max(abs(x), abs(y)) < limit, confidence > 0
    else { return 0 }
    guard confidence < Self.fullConfidence else { return 1 }
    // Confidence is 1 / (1 + (error / fairError)²).
    let pixel = Double(MotionEstimator.fairError) * window.finestPixel
    let doubt = (1 / confidence - 1).squareRoot() - (1 / Self.fullConfidence - 1).squareRoot()
    let spread = spread()
    let (error, doubtful) = (doubt * pixel, max(spread[0], spread[1]))
    return doubtful * doubtful / max(doubtful * doubtful + error * error, 1e-12)
  }
}
