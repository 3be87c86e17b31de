import TestExpectations
import TestSupport
import Testing

@testable import Stabilizer

/// The tracker's patch against its definition.
@Suite struct PatchTests {
  static func level(_ picture: LumaPicture) -> LumaPyramid.Level {
    var level = LumaPyramid.Level(width: picture.width, height: picture.height)
    level.bytes = picture.bytes
    return level
  }

  /// What is compared at (x, y), and the earlier square, both less their means.
  private static func squares(
    _ first: LumaPyramid.Level, _ second: LumaPyramid.Level, at place: (Int, Int),
    to: (Double, Double)
  ) -> (earlier: [Double], now: [Double]) {
    func at(_ level: LumaPyramid.Level, _ x: Int, _ y: Int) -> Double {
      Double(level.bytes[y * level.width + x])
    }
    var (earlier, now): ([Double], [Double]) = ([], [])
    for y in 0..<16 {
      for x in 0..<16 {
        earlier.append(at(first, place.0 + x, place.1 + y))
        let (u, v) = (to.0 + Double(x), to.1 + Double(y))
        let (column, row) = (Int(u), Int(v))
        let (fx, fy) = (u - Double(column), v - Double(row))
        let upper = at(second, column, row) * (1 - fx) + at(second, column + 1, row) * fx
        let lower = at(second, column, row + 1) * (1 - fx) + at(second, column + 1, row + 1) * fx
        now.append(upper * (1 - fy) + lower * fy)
      }
    }
    let (mean, meanNow) = (earlier.reduce(0, +) / 256, now.reduce(0, +) / 256)
    return (earlier.map { $0 - mean }, now.map { $0 - meanNow })
  }

  @Test func correlationAndErrorAreAsDefined() {
    let first = Self.level(LumaPicture(NoiseScene(seed: 2), width: 60, height: 50))
    let second = Self.level(LumaPicture(NoiseScene(seed: 4), width: 60, height: 50))
    var patch = Patch()
    patch.take(first, x: 20, y: 14)
    for (x, y) in [(20.0, 14.0), (22.25, 11.5), (3.75, 30.125)] {
      let step = patch.compare(second, x: Float(x), y: Float(y))
      let (earlier, now) = Self.squares(first, second, at: (20, 14), to: (x, y))
      let energy = earlier.reduce(0) { $0 + $1 * $1 }
      let energyNow = now.reduce(0) { $0 + $1 * $1 }
      let both = zip(earlier, now).reduce(0) { $0 + $1.0 * $1.1 }
      let correlation = both / (energy * energyNow).squareRoot()
      expectLess(abs(Double(step.correlation) - correlation), 1e-4)
      let error = energyNow - both * both / energy
      expectLess(abs(Double(step.error) - error), 1e-3 * energyNow)
    }
  }

  /// One step from half a pixel off ends within a tenth of it, for any gain and offset.
  @Test(arguments: [(1.0, 0.0), (0.7, 40), (1.3, -25)])
  func stepsTowardsTheTruth(gain: Double, offset: Double) {
    let scene = NoiseScene(seed: 2, contrast: 35)
    let first = Self.level(LumaPicture(scene, width: 60, height: 50))
    var moved = LumaPicture(scene, Similarity(shiftX: 0.4, shiftY: -0.3), width: 60, height: 50)
    for place in moved.levels.indices {
      moved.levels[place] = moved.levels[place] * gain + offset
    }
    let second = Self.level(moved)
    var patch = Patch()
    patch.take(first, x: 20, y: 14)
    let step = patch.compare(second, x: 20, y: 14)
    expectLess(abs(step.x - 0.4), 0.05)
    expectLess(abs(step.y + 0.3), 0.05)
    let there = patch.compare(second, x: 20.4, y: 13.7)
    expectLess(abs(there.x), 0.02)
    expectLess(abs(there.y), 0.02)
    expectGreater(there.correlation, 0.995)
  }

  @Test func anEdgeAloneCannotBeLocated() {
    var edge = LumaPyramid.Level(width: 40, height: 40)
    for place in edge.bytes.indices { edge.bytes[place] = place % 40 < 20 ? 60 : 180 }
    var patch = Patch()
    patch.take(edge, x: 12, y: 12)
    expectLess(patch.strength, 1e-3)
  }
}
