import TestExpectations
import TestSupport
import Testing

@testable import Stabilizer

/// Kernels against their slow twins.
@Suite struct MotionKernelTests {
  static func level(_ pattern: TestPattern, _ width: Int, _ height: Int, seed: UInt64 = 1)
    -> LumaPyramid.Level
  {
    var level = LumaPyramid.Level(width: width, height: height)
    level.bytes = pattern.bytes(width * height, seed: seed)
    return level
  }

  @Test(arguments: TestPattern.allCases)
  func halvesByTheMeanOfTwoByTwo(_ pattern: TestPattern) {
    for (width, height) in [(16, 16), (33, 17), (97, 35), (2, 1)] {
      let bytes = pattern.bytes(width * height, seed: 5)
      let (columns, rows) = ((width + 1) / 2, (height + 1) / 2)
      var result = [UInt8](repeating: 0, count: columns * rows)
      halve(bytes.span, width: width, height: height, into: &result)
      for place in result.indices {
        let (x, y) = (2 * (place % columns), 2 * (place / columns))
        let sum = [(0, 0), (1, 0), (0, 1), (1, 1)].reduce(2) { sum, step in
          sum + Int(bytes[min(y + step.1, height - 1) * width + min(x + step.0, width - 1)])
        }
        expectEqual(Int(result[place]), sum / 4)
      }
    }
  }

  @Test(arguments: TestPattern.allCases)
  func leastEigenvaluesAreThoseOfTheSums(_ pattern: TestPattern) {
    for (width, height) in [(40, 40), (67, 41)] {
      let level = Self.level(pattern, width, height)
      var finder = CornerFinder(width: width, height: height, columns: 3, rows: 2, margin: 5)
      finder.find(in: level)
      let slow = SlowCorners(level, margin: 5)
      for row in 0..<2 {
        for column in 0..<3 {
          let corner = finder.corners[row * 3 + column]
          let best = slow.best(column: column, of: 3, row: row, of: 2)
          expectAtMost(abs(Double(corner.response) - best), 1e-3 * max(best, 1))
          let there = slow.response(corner.x, corner.y)
          expectAtMost(abs(there - best), 1e-3 * max(best, 1), "where it says it is")
        }
      }
    }
  }

  /// The picture is 9 pixels further right and 4 further up; all around is something else.
  @Test func theSearchFindsTheShiftOfMostOfThePicture() {
    let (width, height) = (60, 34)
    let scene = TestPattern.random.bytes(200 * 200, seed: 3)
    var first = Self.level(.random, width, height, seed: 8)
    var second = first
    for y in 0..<height {
      for x in 0..<width {
        first.bytes[y * width + x] = scene[(y + 50) * 200 + x + 50]
        second.bytes[y * width + x] = scene[(y + 54) * 200 + x + 41]
      }
    }
    var search = CoarseSearch(width: width, height: height)
    let match = search.match(first, second)
    expectLess(abs(match.x - 9), 0.2)
    expectLess(abs(match.y + 4), 0.2)
    expectLess(match.dissimilarity, 0.3)
    expectEqual(search.match(first, first).dissimilarity, 0)
    // Half the contrast, and brighter: it is as alike.
    var pale = second
    for place in pale.bytes.indices { pale.bytes[place] = pale.bytes[place] / 2 + 120 }
    let again = search.match(first, pale)
    expectLess(abs(again.x - 9), 0.2)
    expectLess(abs(again.y + 4), 0.2)
    expectLess(again.dissimilarity, 1.1 * match.dissimilarity)
    let other = Self.level(.random, width, height, seed: 99)
    expectGreater(search.match(first, other).dissimilarity, 0.8)
  }

  @Test(arguments: TestPattern.allCases)
  func differencesAreSummed(_ pattern: TestPattern) {
    for count in [1, 15, 16, 63, 1000] {
      let first = pattern.bytes(count, seed: 3).map { Int16($0 / 2) - 64 }
      let second = TestPattern.random.bytes(count, seed: 4).map { Int16($0 / 2) - 64 }
      let slow = zip(first, second).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
      expectEqual(Int(difference(first.span, second.span)), slow)
    }
  }

  @Test func leastSquaresFindsASimilarity() throws {
    var moments = Moments()
    let truth = PlainMotion(a: 1.02, b: -0.03, x: 4, y: -2.5)
    for (x, y) in [(-100, 40), (30, 70), (90, -60), (10, -20)] as [(Float, Float)] {
      let (toX, toY) = truth.apply(x, y)
      moments.add(x, y, toX, toY, weight: 1 + abs(x) / 50)
    }
    let found = try #require(moments.solution)
    expectLess(abs(found.a - truth.a), 1e-5)
    expectLess(abs(found.b - truth.b), 1e-5)
    expectLess(abs(found.x - truth.x), 1e-4)
    expectLess(abs(found.y - truth.y), 1e-4)
    var single = Moments()
    single.add(1, 2, 3, 4, weight: 1)
    expectNil(single.solution)
  }

  /// A third of the points agree; the others are anywhere within 20 pixels.
  @Test func theFitIsThatOfThePointsThatAgree() {
    var random = TestRandom(seed: 5)
    var points = TrackedPoints(capacity: 150, width: 640, height: 360)
    let truth = PlainMotion(a: 0.99, b: 0.02, x: 6, y: -3)
    for index in 0..<150 {
      let x = Float.random(in: -320...320, using: &random)
      let y = Float.random(in: -180...180, using: &random)
      var (toX, toY) = truth.apply(x, y)
      if index % 3 > 0 {
        toX = x + Float.random(in: -20...20, using: &random)
        toY = y + Float.random(in: -20...20, using: &random)
      }
      points.append(x: x, y: y, toX: toX, toY: toY, weight: 1)
    }
    let result = SimilarityFit(reach: 1.8, radius: 367).fit(points, guess: PlainMotion())
    expectLess(abs(result.motion.x - 6), 0.05)
    expectLess(abs(result.motion.y + 3), 0.05)
    expectLess(abs(result.motion.a - 0.99), 2e-4)
    expectLess(abs(result.motion.b - 0.02), 2e-4)
    expectTrue((50...56).contains(result.inliers))
  }
}

extension MotionKernelTests {
  /// Half of the points are a fifth of a pixel off, and can be located a tenth as well.
  @Test func pointsThatAreHardToLocateSayLittle() {
    var random = TestRandom(seed: 5)
    var points = TrackedPoints(capacity: 150, width: 640, height: 360)
    for index in 0..<150 {
      let x = Float.random(in: -320...320, using: &random)
      let y = Float.random(in: -180...180, using: &random)
      let isHard = index % 2 == 0
      points.append(
        x: x, y: y, toX: x + (isHard ? 5.2 : 5), toY: y, weight: isHard ? 0.01 : 1)
    }
    let result = SimilarityFit(reach: 1.8, radius: 367).fit(points, guess: PlainMotion())
    expectLess(abs(result.motion.x - 5), 0.01)
  }
}

/// Shi and Tomasi's measure, by its definition.
private struct SlowCorners {
  let level: LumaPyramid.Level
  let margin: Int

  init(_ level: LumaPyramid.Level, margin: Int) {
    self.level = level
    self.margin = margin
  }

  private func at(_ x: Int, _ y: Int) -> Double { Double(level.bytes[y * level.width + x]) }

  /// The lesser eigenvalue of the mean products of derivatives over 7 by 7 pixels.
  func response(_ x: Int, _ y: Int) -> Double {
    var (xx, xy, yy) = (0.0, 0.0, 0.0)
    for v in y - 3...y + 3 {
      for u in x - 3...x + 3 {
        let dx = (at(u + 1, v) - at(u - 1, v)) / 2
        let dy = (at(u, v + 1) - at(u, v - 1)) / 2
        xx += dx * dx / 49
        xy += dx * dy / 49
        yy += dy * dy / 49
      }
    }
    let root = ((xx - yy) * (xx - yy) / 4 + xy * xy).squareRoot()
    return (xx + yy) / 2 - root
  }

  func best(column: Int, of columns: Int, row: Int, of rows: Int) -> Double {
    var best = 0.0
    for y in margin..<level.height - margin where y * rows / level.height == row {
      let first = max(column * level.width / columns, margin)
      let last = min((column + 1) * level.width / columns, level.width - margin)
      for x in first..<last { best = max(best, response(x, y)) }
    }
    return best
  }
}
