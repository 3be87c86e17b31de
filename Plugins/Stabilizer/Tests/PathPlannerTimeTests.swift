import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import Stabilizer

@Suite struct PathPlannerTimeTests {
  /// Half the frames are the same moments: the window is at the same places then.
  @Test(arguments: [0, 15])
  func plansTheSamePathAtTwiceTheFrameRate(lookahead: Int) {
    let shake = Shake([14, 11, 0.005], seed: 13)
    let slow = HandheldCamera(8, rate: 30) { shake($0) }
    let fast = HandheldCamera(8, rate: 60) { shake($0) }
    let slowPath = slow.pathX(slow.planned(crop: 0.1, lookahead: lookahead))
    let fastPath = fast.pathX(fast.planned(crop: 0.1, lookahead: 2 * lookahead))
    var squares = 0.0
    for index in 30..<slowPath.count {
      let difference = slowPath[index] - fastPath[2 * index]
      squares += difference * difference
    }
    let apart = (squares / Double(slowPath.count - 30)).squareRoot()
    expectLess(apart, 1.5, "\(apart) pixels")
  }

  /// A slow sway, that at 30 frames/s is hardly more than a glide, jerks from frame to frame at 10.
  @Test(arguments: [0, 15])
  func smoothsSwaysAtLowFrameRates(lookahead: Int) {
    for seed in UInt64(1)...3 {
      let shake = Shake([6, 5, 0.001], hertz: 0.5, seed: seed)
      let camera = HandheldCamera(15, rate: 10) { shake($0) }
      let raw = camera.jitter(camera.motions.map { _ in Similarity.identity })
      let left = camera.jitter(camera.planned(crop: 0.05, lookahead: lookahead))
      expectLess(left, (lookahead > 0 ? 0.4 : 0.55) * raw, "\(seed): \(left) of \(raw)")
    }
  }

  /// Every third frame is lost; what remains tells its time.
  @Test func plansOnThroughMissingFrames() {
    let shake = Shake([10, 8, 0.004], seed: 17)
    var camera = HandheldCamera(8) { shake($0) + [90 * $0, 0, 0] }
    var kept: [FrameMotion] = []
    for index in stride(from: 0, to: camera.motions.count - 2, by: 3) {
      var (first, second) = (camera.motions[index], camera.motions[index + 1])
      if index > 0 {
        let lost = camera.motions[index - 1]
        first.fromEarlier = first.fromEarlier * lost.fromEarlier
        first.seconds += lost.seconds
      }
      kept += [first, second]
      second = first
    }
    camera.motions = kept
    let steps = camera.steps(camera.planned(crop: 0.1))
    // Velocities, not steps, are even.
    var changes: [Double] = []
    for index in 31..<steps.count {
      let velocity = steps[index].x / (30 * kept[index + 1].seconds)
      changes.append(velocity - steps[index - 1].x / (30 * kept[index].seconds))
    }
    let rms = (changes.reduce(0) { $0 + $1 * $1 } / Double(changes.count)).squareRoot()
    expectLess(rms, 0.4, "\(rms)")
  }

  /// The picture of a repeated frame has not moved; the window moves on over it.
  @Test func movesOnThroughRepeatedFrames() {
    var camera = HandheldCamera(6) { [90 * $0, 0, 0] }
    for index in stride(from: 60, to: 170, by: 7) {
      camera.motions[index] = HandheldCamera.motion(.zero)
      camera.motions[index + 1] = HandheldCamera.motion([6, 0, 0])
    }
    for lookahead in [0, 15] {
      let steps = camera.steps(camera.planned(crop: 0.1, lookahead: lookahead))
      for index in 90..<160 { expectLess(abs(steps[index].x - 3), 1, "\(steps[index].x)") }
    }
  }

  /// A clock that goes back by a frame, one that is set back for good, and frames stamped in bursts:
  /// what is shown is as smooth as with the right times, but for what differs in between.
  @Test(arguments: [0, 15])
  func isNotUpsetByClocks(lookahead: Int) {
    let shake = Shake([10, 8, 0.004], seed: 23)
    let camera = HandheldCamera(8) { shake($0) + [60 * $0, 0, 0] }
    let right = camera.jitter(camera.planned(crop: 0.1, lookahead: lookahead))
    for since in [[-1.0, 3], [-1.0, 1, 3], [0, 2], [0.1, 1.9], [-500, 1]] {
      var upset = camera
      for index in stride(from: 20, to: 220, by: 10) {
        for (place, ticks) in since.enumerated() {
          upset.motions[index + place].seconds = ticks / 30
        }
      }
      let found = upset.jitter(upset.planned(crop: 0.1, lookahead: lookahead))
      expectLess(found, 1.3 * right, "\(since): \(found), with right times \(right)")
    }
  }

  @Test(arguments: [0, 15])
  func startsAnewAfterACut(lookahead: Int) {
    let shake = Shake([12, 9, 0.004], seed: 19)
    var camera = HandheldCamera(8) { shake($0) }
    camera.motions[120] = FrameMotion()
    camera.motions[120].comparison = .cut
    // What the estimator may say of the cut is not to be used.
    camera.motions[120].fromEarlier = Similarity(shiftX: 200, roll: 0.2)
    let planned = camera.planned(crop: 0.1, lookahead: lookahead)
    // Live, the window stays; with later frames known, it begins where these want it.
    if lookahead == 0 { expectEqual(planned[120], planned[119]) }
    // What follows does not show before.
    var other = camera
    for index in 121..<other.motions.count {
      other.motions[index] = HandheldCamera.motion([9, -9, 0.01])
    }
    expectEqual(other.planned(crop: 0.1, lookahead: lookahead)[..<120], planned[..<120])
    // Nothing else of what was before is left.
    var later = camera
    later.motions = Array(camera.motions[120...])
    later.motions[0].comparison = .first
    if lookahead > 0 {
      expectEqual(Array(planned[120...]), later.planned(crop: 0.1, lookahead: lookahead))
    }
    for step in later.steps(Array(planned[120...])) { expectLess((step * step).sum(), 12 * 12) }
  }

  /// Half a second with nothing to hold on to, in the middle of a shaken pan.
  @Test(arguments: [0, 15])
  func coastsWhereNothingIsSeen(lookahead: Int) {
    let shake = Shake([2, 2, 0.001], seed: 23)
    var camera = HandheldCamera(8) { shake($0) + [60 * $0, 0, 0] }
    for index in 120..<135 {
      camera.motions[index].fromEarlier = Similarity(shiftX: -40, shiftY: 25, roll: 0.1)
      if index % 2 == 0 {
        camera.motions[index].comparison = .blank
      } else {
        camera.motions[index].confidence = 0
      }
    }
    let planned = camera.planned(crop: 0.1, lookahead: lookahead)
    for index in 118..<140 {
      let (from, to) = (planned[index - 1].inverse, planned[index].inverse)
      expectLess(abs(to.shiftX - from.shiftX), 4)
      expectLess(abs(to.shiftY - from.shiftY), 3)
      expectLess(abs(to.roll - from.roll), 0.003)
    }
  }

  @Test func givesTheSamePathAgain() {
    let shake = Shake([20, 11, 0.01], seed: 29)
    let camera = HandheldCamera(4) { shake($0) }
    expectEqual(camera.planned(crop: 0.1, lookahead: 15), camera.planned(crop: 0.1, lookahead: 15))
  }
}
