import SprocketCore
import TestExpectations
import Testing

@testable import Stabilizer

@Suite struct UnusableMatricesTests {
  @Test func areTheIdentityAndCounted() {
    var unusable = UnusableMatrices()
    let shift = Similarity(shiftX: 3)
    expectEqual(unusable.checked(shift, isUsable: true), shift)
    expectEmpty(unusable.notes("stabilize/plan"))
    expectEqual(unusable.checked(Similarity(shiftX: .nan), isUsable: false), .identity)
    expectTrue(unusable.notes("stabilize/plan")[0].contains("1 frame as"))
    expectEqual(unusable.checked(Similarity(roll: .infinity), isUsable: false), .identity)
    expectTrue(unusable.notes("stabilize/plan")[0].contains("2 frames"))
  }

  /// Motions that are no numbers, or that no camera makes: the planner goes on as if it had not seen them.
  @Test(arguments: [Double.nan, .infinity, 1e300])
  func doNotReachThePlan(value: Double) {
    for path in [\Similarity.a, \.b, \.shiftX, \.shiftY] {
      var camera = HandheldCamera(1) { [20 * $0, 0, 0] }
      camera.motions[10].fromEarlier[keyPath: path] = value
      for lookahead in [0, 5] {
        let planned = camera.planned(crop: 0.1, lookahead: lookahead)
        expectTrue(planned.allSatisfy { $0.isFinite }, "\(path) \(value)")
        expectGreater(camera.leastReserve(planned), -1e-9)
      }
    }
  }

  /// `WarpStage` warps by every planned matrix without a check, so the extreme poses of all windows must be
  /// usable.
  @Test(arguments: [0, 0.005, 0.05, 0.1, 0.25])
  func everyPlannedMatrixCanBeWarped(crop: Double) {
    for (width, height) in [(1280, 720), (720, 1280), (600, 600), (2048, 256), (64, 64)] {
      let window = CropWindow(width: width, height: height, crop: crop)
      for format in [PixelFormat.i420, .yuv411p, .yuv440p, .yuv444p, .grey, .y16] {
        let warp = PictureWarp(format, width: width, height: height)
        for corner in 0..<8 {
          func sign(_ bit: Int) -> Double { corner & bit == 0 ? -1e9 : 1e9 }
          let pose = window.clamped([sign(1), sign(2), sign(4)])
          expectTrue(
            warp.canWarp(window.stabilizedFromSensor(pose).inverse), "\(width)x\(height) \(format)")
        }
      }
    }
  }

  @Test func refusesMatricesThatItCannotCompute() {
    for format in [PixelFormat.i420, .yuv411p, .yuv440p, .yuv444p, .grey, .y16] {
      let warp = PictureWarp(format, width: 48, height: 20)
      expectTrue(warp.canWarp(.identity))
      expectTrue(warp.canWarp(Similarity(shiftX: 9, roll: 0.5)))
      let values = [Double.nan, .infinity, -.infinity, 1e300, 1e9, -1e9]
      for value in values {
        for path in [\Similarity.a, \.b, \.shiftX, \.shiftY] {
          var similarity = Similarity.identity
          similarity[keyPath: path] = value
          expectFalse(warp.canWarp(similarity), "\(similarity)")
        }
      }
      var flat = Similarity.identity
      flat.a = 0
      expectFalse(warp.canWarp(flat))
      expectFalse(warp.canWarp(flat.inverse))
      expectFalse(warp.canWarp(Similarity(roll: 1.4)))
    }
  }
}
