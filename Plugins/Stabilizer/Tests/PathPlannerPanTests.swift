import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import Stabilizer

/// Ways to pan from 0 to 1 while time goes from 0 to 1.
private let pans: [@Sendable (Double) -> Double] = [
  { $0 }, { $0 * $0 * (3 - 2 * $0) }, { $0 * $0 * $0 * (10 - 15 * $0 + 6 * $0 * $0) },
]

@Suite struct PathPlannerPanTests {
  /// 600 pixels in three seconds, to the left and to the right, after and before standing still.
  @Test(arguments: [0.05, 0.1], [0, 15])
  func arrivesWithThePan(crop: Double, lookahead: Int) {
    for (pan, sign) in zip(pans, [1.0, -1, 1]) {
      let camera = HandheldCamera(9) { time in
        [sign * 600 * pan(min(max((time - 2) / 3, 0), 1)), 0, 0]
      }
      let path = camera.pathX(camera.planned(crop: crop, lookahead: lookahead))
      let raw = camera.rawX
      var farthest = 0.0
      for index in path.indices {
        expectAtMost(abs(raw[index] - path[index]), crop * 1280)
        expectLess(sign * path[index], 606, "passed the end by \(sign * path[index] - 600)")
        farthest = max(farthest, sign * path[index])
        expectGreater(sign * path[index], farthest - 3, "went back")
      }
      let settled = path.lastIndex { abs($0 - sign * 600) > 6 } ?? 0
      expectLess(settled, 5 * 30 + 10, "arrived \(Double(settled) / 30 - 5) s late")
    }
  }

  /// A camera on a tripod that is panned and comes to rest: nothing shakes, and nothing may be made worse by
  /// holding on and letting go. Measured with some noise, at times in milliseconds, as Matroska has them.
  @Test(arguments: [15.0, 30, 60, 120], [0.005, 0.05])
  func leavesSmoothPansAsTheyAre(rate: Double, noise: Double) {
    for (distance, seconds) in [(300.0, 1.5), (600, 2), (600, 3)] {
      var random = TestRandom(seed: 2)
      var camera = HandheldCamera(3 + seconds, rate: rate) { time in
        let pan = distance * pans[2](min(max((time - 2) / seconds, 0), 1))
        return [
          pan + Double.random(in: -noise...noise, using: &random),
          Double.random(in: -noise...noise, using: &random), 0,
        ]
      }
      for index in 1..<camera.motions.count {
        let (to, from) = (1000 * Double(index) / rate, 1000 * Double(index - 1) / rate)
        camera.motions[index].seconds = (to.rounded() - from.rounded()) / 1000
      }
      let raw = camera.jitter(camera.motions.map { _ in Similarity.identity })
      let planned = camera.planned(crop: 0.05)
      let left = camera.jitter(planned)
      expectLess(left, 1.15 * raw, "\(left) of \(raw) in \(seconds) s")
      let farthest = zip(camera.pathX(planned), camera.rawX).map { abs($0 - $1) }.max() ?? 0
      expectLess(farthest, (rate < 30 ? 40 : 16), "\(farthest) px away in \(seconds) s")
    }
  }

  /// The window goes on at the pan's speed, whatever shakes.
  @Test func takesShakeFromPans() {
    let shake = Shake([5, 5, 0.003], seed: 11)
    let camera = HandheldCamera(6) { shake($0) + [100 * $0, 0, 0] }
    let raw = camera.jitter(camera.motions.map { _ in Similarity.identity })
    expectLess(camera.jitter(camera.planned(crop: 0.05)), 0.4 * raw)
    expectLess(camera.jitter(camera.planned(crop: 0.05, lookahead: 15)), 0.15 * raw)
  }
}
