import SprocketTesting
import TestExpectations
import Testing

@testable import FocusScore

/// What the stage says of one frame.
private func report(_ frame: TestFrame, _ change: (inout FocusScore.Settings) -> Void = { _ in })
  throws
  -> FocusReport
{
  var score = FocusScore()
  change(&score.settings)
  var stage = try StageUnderTest(score, for: frame)
  return stage.report(on: frame)
}

/// The stage's sums are exact and the twin's are not: the difference of two large energies is known
/// to 1e-12 of them.
private func isClose(_ value: Double, _ expected: Double) -> Bool {
  abs(value - expected) <= 1e-9 * max(abs(expected), 1)
}

private func frame(_ width: Int, _ height: Int, _ level: (Int, Int) -> UInt8) -> TestFrame {
  let luma = (0..<height).flatMap { y in (0..<width).map { x in level(x, y) } }
  return TestFrame(width: width, height: height, luma: luma)
}

@Test func aSinglePointScoresAsCountedByHand() throws {
  // One pixel of 40 on black, 32x32, away from all edges: 30x30 responses.
  let frame = frame(32, 32) { x, y in x == 16 && y == 16 ? 40 : 0 }
  // Laplacians: -160 there and 40 at its four sides, sum 0, squares 25,600 + 4 * 1600 = 32,000.
  try expectEqual(report(frame) { $0.measure = .laplacian }.score, 32_000.0 / 900)
  // Sobel: 40 at four corners and 80 at two sides, each way: 2 * (4 * 1600 + 2 * 6400) = 38,400.
  try expectEqual(report(frame) { $0.measure = .tenengrad }.score, 38_400.0 / 900)
  // The noise mask: 160 there, -80 at four sides, 40 at four corners: 36 * 1600 = 57,600.
  let found = try report(frame)
  expectTrue(isClose(found.noise, (57_600.0 / 36 / 900).squareRoot()))
  // 32,000 / 20 = 57,600 / 36: a point is all noise.
  expectEqual(found.score, 0)
}

@Test func anEdgeScoresAsCountedByHand() throws {
  // 0 to the left of column 16, 100 from there on. Laplacians: 100 and -100 at either side of the
  // edge in each of 30 rows; the noise mask sees nothing. Pairs across the edge: 12 of 20 along a
  // row, none down a column; the mean is 50.
  let found = try report(frame(32, 32) { x, _ in x < 16 ? 0 : 100 })
  let detail = 2.0 * 10_000 / 30 / 20
  let semivariance = 0.6 * 10_000 / 4
  expectTrue(isClose(found.score, detail / (50.0 * 50 / 64 + 64)))
  expectEqual(found.noise, 0)
  let deviation = (semivariance - 1).squareRoot()
  expectTrue(isClose(found.contrast, deviation / (deviation + 50)))
}

@Test func aBowlOfConstantCurvatureHasNoVariance() throws {
  // (x - 16) (x - 15) / 2 has the second difference 1 everywhere: the mean is 1, the variance 0.
  let bowl = frame(32, 32) { x, _ in UInt8((x - 16) * (x - 15) / 2) }
  try expectEqual(report(bowl) { $0.measure = .laplacian }.score, 0)
}

@Test(arguments: TestPattern.allCases, FocusScore.Measure.allCases)
func equalsItsSlowTwin(_ pattern: TestPattern, _ measure: FocusScore.Measure) throws {
  for (width, height) in [(16, 16), (33, 17), (97, 35), (130, 32)] {
    let luma = pattern.bytes(width * height, seed: 7)
    let found = try report(TestFrame(width: width, height: height, luma: luma)) {
      $0.measure = measure
    }
    let slow = SlowFocus(luma: luma, width: width, columns: 0..<width, rows: 0..<height)
    expectTrue(isClose(found.score, slow.score(measure, in: slow.whole)), "\(width)x\(height)")
    expectTrue(isClose(found.noise, slow.noise(in: slow.whole)))
    expectTrue(isClose(found.contrast, slow.contrast(in: slow.whole)))
    for (index, cell) in slow.cells.enumerated() {
      expectTrue(isClose(found.grid[index], slow.score(measure, in: cell)), "cell \(index)")
    }
  }
}

@Test func theSharpestPossibleRowsDoNotOverflow() {
  // Wider than what fits 32 bits: 1024 squares of responses, 65,536 of differences.
  for count in [1023, 1024, 1025, 5000] {
    for value in [2040, -2040] as [Int16] {
      let values = [Int16](repeating: value, count: count)
      expectEqual(energy(of: values.span), UInt64(count) * 4_161_600)
      expectEqual(sum(of: values.span), Int64(count) * Int64(value))
    }
  }
  for count in [65_535, 65_536, 65_537, 200_000] {
    let (black, white) = (
      [UInt8](repeating: 0, count: count), [UInt8](repeating: 255, count: count)
    )
    expectEqual(squaredDifferences(black.span, white.span), UInt64(count) * 65_025)
    expectEqual(squaredDifferences(white.span, black.span), UInt64(count) * 65_025)
    expectEqual(levelSum(of: white.span), UInt64(count) * 255)
  }
}

@Test(arguments: FocusScore.Measure.allCases)
func theSharpestPictureIsMeasured(_ measure: FocusScore.Measure) throws {
  // A chequerboard has the largest Laplacians, 1020, and noise responses, 2040; stripes two pixels
  // wide the largest gradients, 1020; stripes of 12 the largest differences, 255.
  for period in [1, 2, 12] {
    let picture = frame(132, 40) { x, y in
      UInt8(255 * ((x / period + (period == 1 ? y : 0)) % 2))
    }
    let found = try report(picture) { $0.measure = measure }
    let slow = SlowFocus(luma: picture.planes[0], width: 132, columns: 0..<132, rows: 0..<40)
    expectTrue(isClose(found.score, slow.score(measure, in: slow.whole)))
    expectTrue(isClose(found.noise, slow.noise(in: slow.whole)))
  }
}

@Test func looksAtItsWindowAlone() throws {
  // 160x80 at 0.75/0.5, half of each: columns 80 to 159, rows 20 to 59.
  let inside = TestPattern.random.bytes(160 * 80, seed: 3)
  var outside = TestPattern.random.bytes(160 * 80, seed: 4)
  for y in 20..<60 {
    for x in 80..<160 { outside[y * 160 + x] = inside[y * 160 + x] }
  }
  let slow = SlowFocus(luma: inside, width: 160, columns: 80..<160, rows: 20..<60)
  for luma in [inside, outside] {
    let found = try report(TestFrame(width: 160, height: 80, luma: luma)) {
      $0.measure = .tenengrad
      $0.point = Point(x: 0.9, y: 0.5)
      $0.window = 0.5
    }
    expectTrue(isClose(found.score, slow.score(.tenengrad, in: slow.whole)))
  }
}

@Test func exposureMovesTheScoreLittle() throws {
  let dark = frame(64, 64) { x, y in UInt8((x / 7 * 13 + y / 9 * 29) % 60 + 62) }
  var bright = dark
  for index in bright.planes[0].indices { bright.planes[0][index] *= 2 }
  let (low, high) = (try report(dark), try report(bright))
  // The eight levels of the divisor are not scaled; detail alone would have a quarter.
  expectGreater(low.score, 0.7 * high.score)
  expectLess(low.score, high.score)
  expectLess(abs(low.contrast - high.contrast), 0.01)
  expectGreater(high.score, 0.01)
}

@Test func noiseAloneHasNoScore() throws {
  var random = TestRandom(seed: 5)
  let luma = (0..<256 * 256).map { _ in UInt8.random(in: 111...145, using: &random) }
  let found = try report(TestFrame(width: 256, height: 256, luma: luma))
  // Uniform over 35 levels: variance (35^2 - 1) / 12 = 102.
  expectLess(abs(found.noise - 102.0.squareRoot()), 0.2)
  expectLess(found.score, 0.01)
  expectLess(found.contrast, 0.02)
}

@Test func widensAWindowThatIsTooSmall() throws {
  // A tenth of 40x30 at the right edge is 4x3: columns 24 to 39, rows 7 to 22 are measured.
  let luma = TestPattern.random.bytes(40 * 30, seed: 6)
  let found = try report(TestFrame(width: 40, height: 30, luma: luma)) {
    $0.point = Point(x: 1, y: 0.5)
    $0.window = 0.1
  }
  let slow = SlowFocus(luma: luma, width: 40, columns: 24..<40, rows: 7..<23)
  expectTrue(isClose(found.score, slow.score(.normalized, in: slow.whole)))
}

@Test func refusesAPictureThatIsTooSmall() {
  for (width, height) in [(1, 1), (15, 80), (80, 15)] {
    let frame = TestFrame(
      width: width, height: height, luma: [UInt8](repeating: 0, count: width * height))
    #expect(throws: StageError.self) { try StageUnderTest(FocusScore(), for: frame) }
  }
}

@Test func readsFullLumaAndWritesNothing() throws {
  let frame = TestFrame(width: 32, height: 32, luma: [UInt8](repeating: 0, count: 32 * 32))
  let stage = try StageUnderTest(FocusScore(), for: frame)
  expectEqual(stage.parts, .luma(.full))
  expectNil(stage.writing)
}
