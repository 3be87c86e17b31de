import SprocketCore
import TestExpectations
import Testing

@testable import Stabilizer

/// The largest distance between where two motions carry the corners, in pixels.
func cornerDistance(_ first: Similarity, _ second: Similarity, width: Int, height: Int) -> Double {
  let (x, y) = (Double(width) / 2, Double(height) / 2)
  return [(-x, -y), (x, -y), (-x, y), (x, y)].map { corner in
    let (ax, ay) = first.apply(corner.0, corner.1)
    let (bx, by) = second.apply(corner.0, corner.1)
    return ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).squareRoot()
  }.max()!
}

@Suite struct MotionEstimatorTests {
  static let width = 240
  static let height = 180
  static let scene = NoiseScene(seed: 3)
  static let still = LumaPicture(scene, width: width, height: height)

  static func moved(_ motion: Similarity) -> LumaPicture {
    LumaPicture(scene, motion, width: width, height: height)
  }

  static func estimate(_ first: LumaPicture, _ second: LumaPicture) -> FrameMotion {
    var estimator = MotionEstimator(width: width, height: height)
    return estimator.motion(from: first, to: second)
  }

  static func distance(_ first: Similarity, _ second: Similarity) -> Double {
    cornerDistance(first, second, width: width, height: height)
  }

  @Test(arguments: [
    Similarity(shiftX: 0.3, shiftY: -0.45), Similarity(shiftX: -7.6, shiftY: 3.2),
    Similarity(shiftX: 1.5, shiftY: 2.5, roll: 0.02), Similarity(roll: -0.05, scale: 1.02),
    Similarity(shiftX: 12, shiftY: -5, roll: 0.03, scale: 0.97),
  ])
  func findsShiftRollAndScale(_ truth: Similarity) {
    let found = Self.estimate(Self.still, Self.moved(truth))
    expectEqual(found.comparison, .tracked)
    expectGreater(found.confidence, 0.99)
    expectLess(Self.distance(found.fromEarlier, truth), 0.06)
  }

  /// A quarter of the picture in one frame: at 1280 pixels that would be 320.
  @Test func catchesAFastPan() {
    let truth = Similarity(shiftX: -60, shiftY: 12)
    let found = Self.estimate(Self.still, Self.moved(truth))
    expectEqual(found.comparison, .tracked)
    expectLess(Self.distance(found.fromEarlier, truth), 0.1)
  }

  /// As fast, in a picture whose least luma is not small enough to be searched.
  @Test func catchesAFastPanOfALargerPicture() {
    let (width, height) = (640, 96)
    let truth = Similarity(shiftX: 150, shiftY: -9)
    var estimator = MotionEstimator(width: width, height: height)
    let found = estimator.motion(
      from: LumaPicture(Self.scene, width: width, height: height),
      to: LumaPicture(Self.scene, truth, width: width, height: height))
    expectEqual(found.comparison, .tracked)
    expectLess(cornerDistance(found.fromEarlier, truth, width: width, height: height), 0.1)
  }

  @Test func aRepeatedFrameHasNotMoved() {
    let found = Self.estimate(Self.still, Self.still)
    expectEqual(found.comparison, .tracked)
    expectGreater(found.confidence, 0.99)
    expectEqual(found.fromEarlier, .identity)
    expectEqual(found.inliers, found.tracked)
    expectGreater(found.tracked, 100)
  }

  @Test func exposureAndNoiseDoNotMatter() {
    let truth = Similarity(shiftX: 4.3, shiftY: -2.1, roll: 0.01)
    var (first, second) = (Self.still, Self.moved(truth))
    for place in second.levels.indices { second.levels[place] = second.levels[place] * 0.8 + 7 }
    first.addNoise(deviation: 5, seed: 1)
    second.addNoise(deviation: 5, seed: 2)
    let found = Self.estimate(first, second)
    expectEqual(found.comparison, .tracked)
    expectLess(Self.distance(found.fromEarlier, truth), 0.25)
  }

  /// A thing over two fifths of the picture, in its middle, that moves on its own.
  @Test func followsTheBackgroundNotWhatMovesBeforeIt() {
    let truth = Similarity(shiftX: 2.4, shiftY: 0.7, roll: 0.005)
    let other = NoiseScene(seed: 9, contrast: 60)
    var (first, second) = (Self.still, Self.moved(truth))
    first.cover(44..<196, 33..<147, with: LumaPicture(other, width: 240, height: 180))
    let own = Similarity(shiftX: -3, shiftY: 2)
    second.cover(41..<193, 35..<149, with: LumaPicture(other, own, width: 240, height: 180))
    let found = Self.estimate(first, second)
    expectLess(Self.distance(found.fromEarlier, truth), 0.1)
    expectLess(found.inliers, found.tracked)
  }

  /// As large a thing that moves less than a pixel otherwise than all around it.
  @Test func tellsWhatMovesNearlyAsTheBackground() {
    let truth = Similarity(shiftX: 2.4, shiftY: 0.7)
    let other = NoiseScene(seed: 9, contrast: 60)
    var (first, second) = (Self.still, Self.moved(truth))
    first.cover(44..<196, 33..<147, with: LumaPicture(other, width: 240, height: 180))
    let own = Similarity(shiftX: 3.1, shiftY: 0.2)
    second.cover(47..<199, 33..<147, with: LumaPicture(other, own, width: 240, height: 180))
    let found = Self.estimate(first, second)
    expectLess(Self.distance(found.fromEarlier, truth), 0.1)
  }

  /// A hand before the lens, to the right of the middle, that has more points than what is left to be seen of
  /// the scene, and moves by 18 pixels between two frames.
  @Test func followsWhatLiesAllAroundNotWhatIsNear() {
    let far = NoiseScene(seed: 3, contrast: 25)
    let other = NoiseScene(seed: 9, contrast: 60)
    let truth = Similarity(shiftX: 3.4, shiftY: -1.7, roll: 0.004)
    var first = LumaPicture(far, width: Self.width, height: Self.height)
    var second = LumaPicture(far, truth, width: Self.width, height: Self.height)
    first.addNoise(deviation: 2, seed: 1)
    second.addNoise(deviation: 2, seed: 2)
    first.cover(70..<200, 20..<160, with: LumaPicture(other, width: 240, height: 180))
    let own = Similarity(shiftX: -16, shiftY: 8)
    second.cover(54..<184, 28..<168, with: LumaPicture(other, own, width: 240, height: 180))
    let found = Self.estimate(first, second)
    expectLess(Self.distance(found.fromEarlier, truth), 0.6)
  }

  /// The same, before a camera on a stand.
  @Test func aFixedCameraDoesNotMoveAtAll() {
    let other = NoiseScene(seed: 9, contrast: 60)
    var (first, second) = (Self.still, Self.still)
    first.cover(44..<196, 33..<147, with: LumaPicture(other, width: 240, height: 180))
    let own = Similarity(shiftX: -3, shiftY: 2)
    second.cover(41..<193, 35..<149, with: LumaPicture(other, own, width: 240, height: 180))
    first.addNoise(deviation: 2, seed: 1)
    second.addNoise(deviation: 2, seed: 2)
    let found = Self.estimate(first, second)
    expectEqual(found.comparison, .tracked)
    expectEqual(found.fromEarlier, .identity)
  }

  /// Blurred by 13 pixels along the rows, a hand's motion in a dark room: few points are found in the finest
  /// level, and fewer agree.
  @Test func measuresABlurredFrame() {
    for (index, truth) in [(4.3, -2.1), (-6.5, 3), (0.8, 5.5)].enumerated() {
      let motion = Similarity(shiftX: truth.0, shiftY: truth.1, roll: 0.004)
      var second = Self.moved(motion)
      second.blur(reach: 6)
      second.addNoise(deviation: 2, seed: UInt64(index + 1))
      let found = Self.estimate(Self.still, second)
      expectEqual(found.comparison, .tracked, "\(index)")
      expectLess(Self.distance(found.fromEarlier, motion), 1.2, "\(index)")
      let back = Self.estimate(second, Self.still)
      expectEqual(back.comparison, .tracked, "\(index)")
      expectLess(Self.distance(back.fromEarlier, motion.inverse), 1.2, "\(index)")
    }
  }

  /// Numbers of the first are (n - 2) (q ln(q/p) + (1 - q) ln((1 - q)/(1 - p))) - ln(n (n - 1) / 2) with
  /// n = 52, q = 10/50 and p = 1/50: 23.027 - 7.970 - 7.191.
  @Test func evidenceIsTheLogarithmOfChance() {
    let few = SimilarityFit.evidence(inliers: 12, of: 52, chance: 0.02)
    expectLess(abs(few - (50 * (0.2 * 2.302585 + 0.8 * -0.202941) - 7.190676)), 1e-3)
    // As many as chance makes, or fewer, prove nothing; nor do three points.
    expectEqual(SimilarityFit.evidence(inliers: 12, of: 52, chance: 0.2), 0)
    expectEqual(SimilarityFit.evidence(inliers: 3, of: 52, chance: 0.02), 0)
    // The sharper they agree, the more.
    expectLess(few, SimilarityFit.evidence(inliers: 12, of: 52, chance: 0.005))
  }

  @Test func anotherSceneIsACut() {
    let other = LumaPicture(NoiseScene(seed: 77), width: Self.width, height: Self.height)
    let found = Self.estimate(Self.still, other)
    expectEqual(found.comparison, .cut)
    expectEqual(found.fromEarlier, .identity)
    expectEqual(found.confidence, 0)
  }

  @Test(arguments: [0.0, 2, 8])
  func aWallGivesNothingToHoldOnTo(noise: Double) {
    var first = LumaPicture(
      NoiseScene(seed: 1, contrast: 0), width: Self.width, height: Self.height)
    var second = first
    first.addNoise(deviation: noise, seed: 1)
    second.addNoise(deviation: noise, seed: 2)
    let found = Self.estimate(first, second)
    expectEqual(found.comparison, .blank)
    expectEqual(found.fromEarlier, .identity)
    expectEqual(found.confidence, 0)
  }

  @Test func remembersNothingFromPairToPair() {
    let truth = Similarity(shiftX: 1.5, shiftY: 2.5, roll: 0.02)
    var used = MotionEstimator(width: Self.width, height: Self.height)
    _ = used.motion(from: Self.moved(Similarity(shiftX: 30)), to: Self.still)
    let again = used.motion(from: Self.still, to: Self.moved(truth))
    let fresh = Self.estimate(Self.still, Self.moved(truth))
    expectEqual(again.fromEarlier, fresh.fromEarlier)
    expectEqual(again.inliers, fresh.inliers)
  }

  @Test(arguments: [(64, 64), (65, 97), (176, 144), (321, 243)])
  func anySizeWillDo(width: Int, height: Int) {
    let truth = Similarity(shiftX: 1.3, shiftY: -0.8, roll: 0.01)
    var estimator = MotionEstimator(width: width, height: height)
    let found = estimator.motion(
      from: LumaPicture(Self.scene, width: width, height: height),
      to: LumaPicture(Self.scene, truth, width: width, height: height))
    expectEqual(found.comparison, .tracked)
    let off = cornerDistance(found.fromEarlier, truth, width: width, height: height)
    expectLess(off, 0.12)
  }

  @Test func comparesAtSixToTwelveHundredPixels() {
    let scales = [(1920, 1080), (1280, 720), (1279, 960), (640, 480), (176, 144), (8192, 4096)]
      .map { MotionEstimator(width: $0.0, height: $0.1).scales }
    expectEqual(scales[0], [.half, .quarter, .eighth])
    expectEqual(scales[1], [.half, .quarter, .eighth])
    expectEqual(scales[2], [.full, .half, .quarter, .eighth])
    expectEqual(scales[3], [.full, .half, .quarter, .eighth])
    expectEqual(scales[4], [.full, .half, .quarter])
    expectEqual(scales[5], [.eighth])
  }
}
