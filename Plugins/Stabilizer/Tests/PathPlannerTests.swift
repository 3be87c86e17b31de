import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import Stabilizer

private let sizes = [(1280, 720), (640, 480), (720, 1280), (600, 600), (2048, 256), (64, 64)]

@Suite struct PathPlannerTests {
  /// Of any size, also absurd, and of motions that no camera makes.
  @Test(arguments: [0, 0.005, 0.05, 0.1, 0.25])
  func showsNothingBeyondTheSensor(crop: Double) {
    for (width, height) in sizes {
      for (size, seed) in zip([0.1, 1, 10, 100, 3000, 1e9], UInt64(1)...) {
        let lookahead = Int(seed % 2) * 5
        var random = TestRandom(seed: seed)
        var camera = HandheldCamera(1.5) { _ in .zero }
        (camera.width, camera.height) = (width, height)
        for index in 1..<camera.motions.count {
          let displacement = Pose(
            Double.random(in: -size...size, using: &random),
            Double.random(in: -size...size, using: &random),
            Double.random(in: -size...size, using: &random) / 100)
          camera.motions[index] = HandheldCamera.motion(displacement)
          camera.motions[index].fromEarlier.a *= Double.random(in: 0.8...1.25, using: &random)
          camera.motions[index].confidence = Double.random(in: 0...1, using: &random)
        }
        let planned = camera.planned(crop: crop, lookahead: lookahead)
        expectGreater(
          camera.leastReserve(planned), -1e-9, "\(width)x\(height) \(size) \(lookahead)")
        for similarity in planned { expectLess(abs(similarity.scale * (1 - 2 * crop) - 1), 1e-9) }
      }
    }
  }

  @Test func doesNothingWithoutACrop() {
    let shake = Shake([9, 7, 0.01], seed: 3)
    for similarity in HandheldCamera(2, { shake($0) }).planned(crop: 0, lookahead: 5) {
      expectLess(abs(similarity.shiftX), 1e-9)
      expectLess(abs(similarity.shiftY), 1e-9)
      expectLess(abs(similarity.b), 1e-9)
      expectLess(abs(similarity.a - 1), 1e-9)
    }
  }

  /// Noise is summed by whoever trusts it: in 20 seconds to 0.7 pixels.
  @Test(arguments: [0, 15])
  func holdsStillWhatStandsStill(lookahead: Int) {
    var random = TestRandom(seed: 5)
    var camera = HandheldCamera(20) { _ in .zero }
    for index in 1..<camera.motions.count {
      func noise() -> Double {
        (0..<12).reduce(-6) { sum, _ in sum + Double.random(in: 0...1, using: &random) }
      }
      camera.motions[index] = HandheldCamera.motion(
        Pose(0.03 * noise(), 0.03 * noise(), 0.03 / 640 * noise()))
    }
    let planned = camera.planned(crop: 0.05, lookahead: lookahead)
    expectLess(camera.largestCorrection(planned, crop: 0.05), 0.1)
  }

  /// After a shake the window is back in the middle, and stays there.
  @Test func returnsWhenTheCameraIsPutDown() {
    let shake = Shake([12, 9, 0.005], seed: 7)
    let camera = HandheldCamera(12) { $0 < 5 ? shake($0) : shake(5) }
    let planned = camera.planned(crop: 0.1)
    expectGreater(camera.largestCorrection(Array(planned[..<150]), crop: 0.1), 10)
    expectLess(camera.largestCorrection(Array(planned[270...]), crop: 0.1), 0.1)
  }

  @Test func takesShakeAway() {
    for seed in UInt64(1)...2 {
      for (hertz, causal) in [(1.0, 0.4), (2, 0.25), (5, 0.1)] {
        let shake = Shake([10, 8, 0.004], hertz: hertz, seed: seed)
        let camera = HandheldCamera(10) { shake($0) }
        let raw = camera.jitter(camera.motions.map { _ in Similarity.identity })
        let standard = camera.jitter(camera.planned(crop: 0.05))
        let cinematic = camera.jitter(camera.planned(crop: 0.05, lookahead: 15))
        expectLess(standard, causal * raw, "\(seed) \(hertz): \(standard) of \(raw)")
        expectLess(cinematic, 0.6 * standard, "\(seed) \(hertz): \(cinematic) of \(standard)")
      }
    }
  }

  /// A turn of the window must not move its middle.
  @Test func keepsRollOutOfTheShifts() {
    let shake = Shake([0, 0, 0.01], seed: 9)
    // About a point 200 pixels right of the middle, where the window is not held at first.
    let camera = HandheldCamera(8) { time in
      let roll = Similarity(roll: shake(time)[2])
      return Pose(200 * (1 - roll.a), -200 * roll.b, shake(time)[2])
    }
    let raw = camera.jitter(camera.motions.map { _ in Similarity.identity })
    let left = camera.jitter(camera.planned(crop: 0.1, lookahead: 15))
    expectLess(left, 0.05 * raw, "\(left) of \(raw)")
  }
}
