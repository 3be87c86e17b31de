extension MotionEstimator {
  /// The fit that is believed, of those of all levels. In blurred frames few points are found in the finest.
  struct Believed {
    var result = SimilarityFit.Result()
    var tracked = 0
    var confidence: Float = 0

    /// Confidence from which a finer level's fit replaces a coarser one's, however sure that was. Larger:
    /// fewer fits of few points in blurred frames are taken. By trial.
    private static let enough: Float = 0.5

    /// Takes the fit of the next finer level, unless the one before is surer.
    mutating func take(_ next: SimilarityFit.Result, _ points: Int, confidence: Float) {
      guard confidence >= min(self.confidence, Self.enough) else { return }
      (result, tracked, self.confidence) = (next, points, confidence)
    }
  }

  /// Standard error of the shift, in finest pixels, that halves the confidence. Larger: more confident.
  static let fairError: Float = 0.3
  /// Least fall of chi-square, from no motion to the fit, that counts as motion. Larger: slow motions are
  /// taken for standing still more often. 18.5 happens by chance once in a thousand frames with four
  /// parameters; points that share a compressed block err together, so it is twice that.
  private static let leastGain: Float = 40
  /// Least motion of a corner of the picture, in finest pixels, that counts: more than the apparent motion
  /// that compression and interpolation cause. Larger: slower pans are taken for standing still, which
  /// leaves the picture as it was. By trial on `vtest.avi`, a fixed camera.
  private static let leastMotion: Float = 0.04

  /// Whether some corner of the picture moves by more than `leastMotion`.
  private func moves(_ motion: PlainMotion) -> Bool {
    let shift = (motion.x * motion.x + motion.y * motion.y).squareRoot()
    let turn = ((motion.a - 1) * (motion.a - 1) + motion.b * motion.b).squareRoot()
    return shift + turn * fit.radius > Self.leastMotion
  }

  /// How sure a fit of the points is, 0 to 1, of `count` that were looked for.
  func confidence(_ result: SimilarityFit.Result, of count: Int) -> Float {
    guard result.inliers >= Self.leastPoints else { return 0 }
    // Few of those looked for, and in a small part of the picture, are of something near.
    let isSmall = Float(result.inliers) < Self.smallShare * Float(count)
    guard !isSmall || result.extent > Self.leastExtent else { return 0 }
    let share = Float(result.inliers) / Float(points.count)
    let belief = (result.evidence - Self.leastEvidence) / (Self.fullEvidence - Self.leastEvidence)
    let certainty = 1 / (1 + result.error * result.error / (Self.fairError * Self.fairError))
    return min(1, share / Self.fullShare, max(belief, 0)) * certainty
  }

  /// Share of the points looked for below which a fit has to reach over `leastExtent` of the picture. Larger:
  /// something near is followed less often, and so is the background beside it. By trial on pans with people.
  private static let smallShare: Float = 0.2
  /// Share of the picture, see `smallShare`. Larger: as there.
  private static let leastExtent: Float = 0.35
  /// Share of the points that were found which makes a fit as sure as can be. Larger: fits amid many outliers
  /// count less.
  private static let fullShare: Float = 0.4
  /// Evidence (`SimilarityFit.evidence`) at which belief in a fit begins. Larger: more blurred frames count
  /// as unknown; 2 happens by chance once in seven frames without any true motion.
  private static let leastEvidence: Float = 2
  /// Evidence from which a fit is believed. Larger: fits of few points count less. 16 happens by chance
  /// once in nine million frames.
  private static let fullEvidence: Float = 16

  func conclude(
    _ motion: inout FrameMotion, _ best: Believed, _ match: CoarseSearch.Match
  ) {
    let result = best.result
    motion.tracked = best.tracked
    motion.inliers = result.inliers
    motion.confidence = Double(best.confidence)
    guard motion.confidence > 0 else {
      motion.comparison = match.contrast > 3 && match.dissimilarity > 0.6 ? .cut : .blank
      return
    }
    guard result.gain > Self.leastGain, moves(result.motion) else { return }
    let scale = Double(divisor)
    motion.fromEarlier.a = Double(result.motion.a)
    motion.fromEarlier.b = Double(result.motion.b)
    motion.fromEarlier.shiftX = Double(result.motion.x) * scale
    motion.fromEarlier.shiftY = Double(result.motion.y) * scale
  }
}
