import Foundation
import TestExpectations
import Testing

@testable import SprocketScene

/// Finds the similarity that carries pixels of `moved` to where they are in `fixed`, by least
/// squares on all inner pixels (Lucas and Kanade 1981, with Baker and Matthews' update).
private func register(_ fixed: Picture, _ moved: Picture, start: SceneSimilarity)
  -> SceneSimilarity
{
  var found = start
  for _ in 0..<7 {
    let change = step(fixed, moved, found)
    found.dx += change[0]
    found.dy += change[1]
    found.roll += change[2]
    found.scale += change[3]
  }
  return found
}

/// One Gauss-Newton step: the change of dx, dy, roll and scale.
private func step(_ fixed: Picture, _ moved: Picture, _ now: SceneSimilarity) -> [Double] {
  var normal = [[Double]](repeating: [Double](repeating: 0, count: 5), count: 4)
  let (cx, cy) = (Double(fixed.width - 1) / 2, Double(fixed.height - 1) / 2)
  let (c, s) = (cos(now.roll), sin(now.roll))
  for y in 8..<fixed.height - 8 {
    for x in 8..<fixed.width - 8 {
      let (u, v) = (Double(x) - cx, Double(y) - cy)
      let px = cx + now.dx + now.scale * (c * u - s * v)
      let py = cy + now.dy + now.scale * (s * u + c * v)
      guard px > 5, py > 5, px < Double(fixed.width - 5), py < Double(fixed.height - 5) else {
        continue
      }
      let error = moved[x, y] - fixed.sample(px, py)
      // The gradient of `moved`, turned back, is near enough to that of `fixed` to descend by.
      let mx = (moved[x + 1, y] - moved[x - 1, y]) / 2
      let my = (moved[x, y + 1] - moved[x, y - 1]) / 2
      let gx = (c * mx - s * my) / now.scale
      let gy = (s * mx + c * my) / now.scale
      let rows = [
        gx, gy, now.scale * (gx * (-s * u - c * v) + gy * (c * u - s * v)),
        gx * (c * u - s * v) + gy * (s * u + c * v),
      ]
      for i in 0..<4 {
        for j in 0..<4 { normal[i][j] += rows[i] * rows[j] }
        normal[i][4] += rows[i] * error
      }
    }
  }
  return solve(normal)
}

/// Gauss's elimination of four equations.
private func solve(_ equations: [[Double]]) -> [Double] {
  var rows = equations
  for pivot in 0..<4 {
    for row in 0..<4 where row != pivot {
      let factor = rows[row][pivot] / rows[pivot][pivot]
      for column in 0..<5 { rows[row][column] -= factor * rows[pivot][column] }
    }
  }
  return (0..<4).map { rows[$0][4] / rows[$0][$0] }
}

@Suite struct SceneRegistrationTests {
  static let truths = [
    SceneSimilarity(dx: 0.25), SceneSimilarity(dx: 0.5, dy: -0.5), SceneSimilarity(dy: 0.125),
    SceneSimilarity(dx: -3.3, dy: 1.7), SceneSimilarity(dx: 0.4, dy: 0.6, roll: 0.01),
    SceneSimilarity(dx: 1.1, dy: -0.3, roll: -0.02, scale: 1.01),
    SceneSimilarity(dx: -0.7, dy: 0.9, roll: 0.002, scale: 0.99),
  ]

  @Test(arguments: truths) func aMeasuredShiftIsTheOneDrawn(_ truth: SceneSimilarity) {
    var renderer = SceneRenderer(width: 120, height: 90, seed: 3, sensor: quietSensor())
    let fixed = renderer.picture(moment())
    let moved = renderer.picture(moment { $0.sceneFromFrame = truth })
    let start = SceneSimilarity(dx: truth.dx.rounded(), dy: truth.dy.rounded())
    let found = register(fixed, moved, start: start)
    expectLess(abs(found.dx - truth.dx), 0.01, "dx \(found.dx) for \(truth.dx)")
    expectLess(abs(found.dy - truth.dy), 0.01, "dy \(found.dy) for \(truth.dy)")
    expectLess(abs(found.rollDegrees - truth.rollDegrees), 0.01)
    expectLess(abs(found.scale - truth.scale), 0.0003, "scale \(found.scale) for \(truth.scale)")
  }

  @Test func aWholeShiftMovesEveryPixel() {
    var renderer = SceneRenderer(width: 96, height: 64, seed: 3, sensor: quietSensor())
    let fixed = renderer.picture(moment())
    let moved = renderer.picture(moment { $0.sceneFromFrame = SceneSimilarity(dx: 5, dy: -3) })
    for y in 3..<64 {
      for x in 0..<91 {
        expectEqual(moved[x, y], fixed[x + 5, y - 3])
      }
    }
  }

  /// The texture repeats: a pan by its whole width shows the same frame.
  @Test func thePictureRepeatsWithoutASeam() {
    var renderer = SceneRenderer(width: 96, height: 64, seed: 3, sensor: quietSensor())
    let around = Double(renderer.texture.width)
    let far = Double(7 * renderer.texture.width + 40)
    expectEqual(
      renderer.bytes(moment { $0.sceneFromFrame = SceneSimilarity(dx: around) }),
      renderer.bytes(moment()))
    expectEqual(
      renderer.bytes(moment { $0.sceneFromFrame = SceneSimilarity(dx: far) }),
      renderer.bytes(moment { $0.sceneFromFrame = SceneSimilarity(dx: 40) }))
  }

  /// Rows 0 1 2 are followed, both ways, by their mirror images.
  @Test func rowsBeyondTheEdgesAreMirrored() {
    let rows = (-7...9).map { mirrored($0, height: 3) }
    expectEqual(rows, [0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2])
  }
}
