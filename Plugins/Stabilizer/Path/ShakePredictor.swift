internal import Glibc

/// Predicts the camera's motion as the mean of four models (slow, common, abrupt and fast shake), weighted
/// by how well each has predicted, axis by axis.
///
/// Where the camera shakes at 5 Hz, a model of 1.6 Hz alone leaves three times the jitter.
/// No allocation.
struct ShakePredictor {
  private static let kinds: InlineArray<4, ShakeModel.Kind> = [
    ShakeModel.Kind(hertz: 1),
    ShakeModel.Kind(hertz: 1.6),
    // Moved on purpose, abruptly.
    ShakeModel.Kind(hertz: 1.6, intentTicks: 9, intentShare: 1),
    ShakeModel.Kind(hertz: 5),
  ]

  private var models = InlineArray<4, ShakeModel> { ShakeModel(ShakePredictor.kinds[$0]) }
  /// Probability of each model; their sum is 1.
  private var shares = InlineArray<4, Pose>(repeating: Pose(repeating: 0.25))

  /// Displacement since `mark` that frames of unknown motion were given, and their time in ticks.
  private var skipped = Pose.zero
  private var skippedTicks = 0.0

  /// Expected displacement since `mark`, less that of frames of unknown motion.
  var displacement: Pose {
    var sum = Pose.zero
    for index in models.indices { sum += shares[index] * models[index].displacement }
    return sum - skipped
  }

  /// Standard deviation of `displacement`.
  var standardDeviation: Pose {
    var sum = Pose.zero
    for index in models.indices { sum += shares[index] * models[index].variance }
    // Rounding may take what is next to nothing below 0.
    return pointwiseMax(sum, .zero).squareRoot()
  }

  /// Intended velocity, per tick of 1/30 s.
  var intent: Pose {
    var sum = Pose.zero
    for index in models.indices { sum += shares[index] * models[index].intent }
    return sum
  }

  /// Advances by `times` equal spans; `body` is called after each with its index.
  mutating func coast(_ ticks: Double, times: Int, _ body: (Int, borrowing ShakePredictor) -> Void)
  {
    let steps = InlineArray<4, ShakeModel.Step> { models[$0].step(ticks) }
    for time in 0..<times {
      for index in models.indices { models[index].coast(steps[index]) }
      body(time, self)
    }
  }

  /// Advances by some time without an observation.
  mutating func coast(_ ticks: Double) {
    for index in models.indices { models[index].coast(models[index].step(ticks)) }
  }

  /// Learns from the displacement of one frame, `ticks` after the one before.
  mutating func observe(_ displacement: Pose, ticks: Double, confidence: Double) {
    for index in models.indices {
      models[index].observe(
        displacement + skipped, ticks: ticks + skippedTicks, confidence: confidence)
    }
    for axis in 0..<3 {
      var most = -Double.infinity
      for index in models.indices { most = max(most, models[index].evidence[axis]) }
      var sum = 0.0
      for index in models.indices {
        shares[index][axis] = exp(models[index].evidence[axis] - most)
        sum += shares[index][axis]
      }
      for index in models.indices { shares[index][axis] /= sum }
    }
  }

  /// Makes `displacement` 0: it counts from here.
  mutating func mark() {
    for index in models.indices { models[index].mark() }
    (skipped, skippedTicks) = (.zero, 0)
  }

  /// Goes on to the next frame, where this one's motion is unknown and was taken to be as predicted.
  mutating func skip(_ ticks: Double) {
    skipped += displacement
    skippedTicks += ticks
  }

  /// What frames of unknown motion were given was so much too little.
  mutating func correctSkipped(by displacement: Pose) { skipped += displacement }
}
