import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import Stabilizer

/// A motion measured from the frame `back` frames before.
private func measured(_ x: Double, back: Int = 1) -> FrameMotion {
  var motion = HandheldCamera.motion([x, 0, 0], seconds: Double(back) / 30)
  motion.framesBack = back
  return motion
}

/// A frame of which nothing is known.
private func unknown() -> FrameMotion {
  var motion = FrameMotion()
  motion.comparison = .blank
  motion.seconds = 1.0 / 30
  return motion
}

private func belief(_ motion: FrameMotion) -> Double {
  motion.comparison == .tracked ? min(1, motion.confidence) : 0
}

@Suite struct MotionBridgeTests {
  private static func divided(_ motions: [FrameMotion], after shown: [MotionBridge.Step] = [])
    -> (shifts: [Double], correction: MotionBridge.Correction?)
  {
    var bridge = MotionBridge()
    for step in shown { bridge.show(step) }
    var motions = motions
    let correction = bridge.divide(&motions, belief: belief)
    return (motions.map(\.fromEarlier.shiftX), correction)
  }

  private static func shown(_ x: Double, weight: Double = 1) -> MotionBridge.Step {
    MotionBridge.Step(motion: Similarity(shiftX: x), seconds: 1.0 / 30, weight: weight)
  }

  /// Steps 1, 2, 3, 4, 5, 6 are those of the parabola t (t + 1) / 2, which a cubic through four places
  /// meets exactly: 3 and 4 out of their sum, 7; and 3, 4 and 5 out of theirs.
  @Test func findsTheStepsOfAParabolaFromTheirSum() {
    let two = Self.divided(
      [measured(1), measured(2), unknown(), measured(7, back: 2), measured(5)])
    for (step, truth) in zip(two.shifts, [1.0, 2, 3, 4, 5]) { expectLess(abs(step - truth), 1e-9) }
    let three = Self.divided(
      [measured(2), unknown(), unknown(), measured(12, back: 3), measured(6)])
    for (step, truth) in zip(three.shifts, [2.0, 3, 4, 5, 6]) {
      expectLess(abs(step - truth), 1e-9)
    }
  }

  /// Between 0 and 8 with velocities of 2 before and 6 behind: half of 8, less a sixth of the difference.
  @Test func fitsTheVelocitiesOnEitherSide() {
    let found = Self.divided([measured(2), unknown(), measured(8, back: 2), measured(6)])
    expectLess(abs(found.shifts[1] - (4 - 4.0 / 6)), 1e-9)
    expectLess(abs(found.shifts[1] + found.shifts[2] - 8), 1e-9)
  }

  /// Without a frame behind: a parabola through -2, 0 and 8 at the times -1, 0 and 2 is 10/3 at 1.
  @Test func doesWithoutAFrameBehind() {
    let found = Self.divided([measured(2), unknown(), measured(8, back: 2)])
    expectLess(abs(found.shifts[1] - 10.0 / 3), 1e-9)
  }

  /// What a blurred frame shows counts by its weight, and what is left goes to the next.
  @Test func blendsWhatWasMeasuredInBetween() {
    var blurred = measured(0)
    blurred.confidence = 0.25
    let found = Self.divided([measured(4), blurred, measured(8, back: 2), measured(4)])
    expectLess(abs(found.shifts[1] - 3), 1e-9)
    expectLess(abs(found.shifts[2] - 5), 1e-9)
  }

  /// A shown frame was predicted to move by 20, and moved by -8: so says the next one, by what is known of
  /// both (-16, steadily).
  @Test func tellsHowAShownFrameWasMisjudged() {
    let found = Self.divided(
      [measured(-16, back: 2)], after: [Self.shown(-8), Self.shown(20, weight: 0)])
    expectLess(abs((found.correction?.last[0] ?? 0) + 28), 1e-9)
    expectLess(abs((found.correction?.sum[0] ?? 0) + 28), 1e-9)
    expectLess(abs(found.shifts[0] + 8), 1e-9)
  }

  /// What is known in between is taken off the sum.
  @Test func takesOffWhatIsKnown() {
    let found = Self.divided([measured(7, back: 2)], after: [Self.shown(1), Self.shown(3)])
    expectLess(abs(found.shifts[0] - 4), 1e-9)
    expectLess(abs(found.correction?.last[0] ?? 1), 1e-12)
  }

  /// Something that passed the lens, and was taken for another scene.
  @Test func bridgesAFalseCut() {
    var cut = unknown()
    cut.comparison = .cut
    var motions = [measured(3), cut, measured(6, back: 2), measured(3)]
    var bridge = MotionBridge()
    _ = bridge.divide(&motions, belief: belief)
    expectEqual(motions.map(\.comparison), [.tracked, .tracked, .tracked, .tracked])
    expectEqual(motions.map(\.framesBack), [1, 1, 1, 1])
    for motion in motions { expectLess(abs(motion.fromEarlier.shiftX - 3), 1e-9) }
    for motion in motions { expectLess(abs(motion.seconds - 1.0 / 30), 1e-9) }
  }

  @Test func leavesUnknownWhatReachesTooFar() {
    var motions = [measured(6, back: 3)]
    var bridge = MotionBridge()
    expectTrue(bridge.divide(&motions, belief: belief) == nil)
    expectEqual(motions[0].comparison, .blank)
  }

  /// Every eighth frame is blurred: in a shaken pan what is shown differs from what would be with all known
  /// by a part of what prediction alone makes of it.
  @Test func aPathGoesOnThroughBlurredFrames() {
    let shake = Shake([10, 8, 0.004], hertz: 2, seed: 41)
    let camera = HandheldCamera(6) { shake($0) + [60 * $0, 0, 0] }
    var (bridged, predicted) = (camera, camera)
    for index in stride(from: 12, to: camera.motions.count - 1, by: 8) {
      bridged.motions[index] = unknown()
      predicted.motions[index] = unknown()
      let (first, second) = (camera.motions[index], camera.motions[index + 1])
      bridged.motions[index + 1].fromEarlier = second.fromEarlier * first.fromEarlier
      bridged.motions[index + 1].framesBack = 2
      bridged.motions[index + 1].seconds = 2.0 / 30
    }
    for (lookahead, share) in [(15, 0.5), (0, 0.9)] {
      let known = camera.jitter(bridged.planned(crop: 0.1, lookahead: lookahead))
      let guessed = camera.jitter(predicted.planned(crop: 0.1, lookahead: lookahead))
      expectLess(known, share * guessed, "\(lookahead): \(known) of \(guessed)")
    }
  }

  /// A second of nothing in a fast shake: the window stays where it is from the second frame on.
  @Test(arguments: [0, 15])
  func restsWhereNothingIsSeen(lookahead: Int) {
    let shake = Shake([14, 11, 0.005], seed: 13)
    var camera = HandheldCamera(6) { shake($0) + [60 * $0, 0, 0] }
    for index in 90..<120 { camera.motions[index] = unknown() }
    let planned = camera.planned(crop: 0.1, lookahead: lookahead)
    for index in 91..<120 { expectEqual(planned[index], planned[90]) }
    expectGreater(camera.leastReserve(planned), -1e-9)
  }
}
