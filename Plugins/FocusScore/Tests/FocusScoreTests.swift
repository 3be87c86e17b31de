import SprocketCore
import TestSupport
import Testing

@testable import FocusScore

/// The definition, pixel by pixel, in two passes over all Laplacians.
private func slowScore(
  _ luma: [UInt8], width: Int, columns: Range<Int>, rows: Range<Int>
) -> Double {
  func level(_ x: Int, _ y: Int) -> Double { Double(luma[y * width + x]) }
  var values: [Double] = []
  for y in rows.lowerBound + 1..<rows.upperBound - 1 {
    for x in columns.lowerBound + 1..<columns.upperBound - 1 {
      values.append(
        level(x, y - 1) + level(x, y + 1) + level(x - 1, y) + level(x + 1, y) - 4 * level(x, y))
    }
  }
  let mean = values.reduce(0, +) / Double(values.count)
  return values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count)
}

private func isClose(_ value: Double, _ expected: Double) -> Bool {
  abs(value - expected) <= 1e-9 * max(abs(expected), 1)
}

@Test func aSinglePointScoresAsCountedByHand() throws {
  // Interior 3x3: -4 * 10 in the middle, 10 at its four sides, 0 at the corners.
  // Sum 0, squares 1600 + 4 * 100 = 2000, divided by 9 pixels.
  var luma = [UInt8](repeating: 0, count: 25)
  luma[12] = 10
  let frame = TestFrame(width: 5, height: 5, luma: luma)
  var stage = try StageUnderTest(FocusScore(), for: frame)
  #expect(stage.report(on: frame).score == 2000.0 / 9)
}

@Test func aBowlOfConstantCurvatureScoresZero() throws {
  // x^2 has the second difference 2 everywhere: the mean is 2, not 0, and the variance 0.
  let luma = (0..<6).flatMap { _ in (0..<15).map { UInt8($0 * $0) } }
  let frame = TestFrame(width: 15, height: 6, luma: luma)
  var stage = try StageUnderTest(FocusScore(), for: frame)
  #expect(stage.report(on: frame).score == 0)
}

@Test(arguments: TestPattern.allCases)
func equalsItsSlowTwin(_ pattern: TestPattern) throws {
  for (width, height) in [(3, 3), (4, 3), (3, 7), (16, 5), (17, 4), (33, 9), (101, 13), (130, 3)] {
    let luma = pattern.bytes(width * height, seed: 7)
    let frame = TestFrame(width: width, height: height, luma: luma)
    var stage = try StageUnderTest(FocusScore(), for: frame)
    let expected = slowScore(luma, width: width, columns: 0..<width, rows: 0..<height)
    #expect(isClose(stage.report(on: frame).score, expected), "\(width)x\(height)")
  }
}

@Test func looksAtItsRegionAlone() throws {
  // 40x20 at 0.25/0.5/0.5/0.5: columns 10 to 29, rows 10 to 19.
  let inside = TestPattern.random.bytes(40 * 20, seed: 3)
  var outside = TestPattern.random.bytes(40 * 20, seed: 4)
  for y in 10..<20 {
    for x in 10..<30 { outside[y * 40 + x] = inside[y * 40 + x] }
  }
  var score = FocusScore()
  score.region = Region(x: 0.25, y: 0.5, width: 0.5, height: 0.5)
  let frame = TestFrame(width: 40, height: 20, luma: inside)
  var stage = try StageUnderTest(score, for: frame)
  let expected = slowScore(inside, width: 40, columns: 10..<30, rows: 10..<20)
  #expect(isClose(stage.report(on: frame).score, expected))
  let other = TestFrame(width: 40, height: 20, luma: outside)
  #expect(stage.report(on: other).score == stage.report(on: frame).score)
}

@Test func theSharpestPossibleRowsDoNotOverflow() throws {
  // A chequerboard of 0 and 255 has Laplacians of 1020 and -1020 only: the variance is 1020^2. It
  // is wider than the 4096 values whose squares fit 32 bits.
  let (width, height) = (8301, 4)
  let luma = (0..<height).flatMap { y in (0..<width).map { UInt8(255 * (($0 + y) % 2)) } }
  let frame = TestFrame(width: width, height: height, luma: luma)
  var stage = try StageUnderTest(FocusScore(), for: frame)
  // 8299 x 2 interior pixels, an equal number of both signs: the mean is 0.
  #expect(stage.report(on: frame).score == 1_040_400)
}

@Test func refusesAPictureWithoutInterior() {
  for (width, height) in [(1, 1), (2, 2), (2, 9), (9, 2)] {
    let frame = TestFrame(
      width: width, height: height, luma: [UInt8](repeating: 0, count: width * height))
    #expect(throws: StageError.self) { try StageUnderTest(FocusScore(), for: frame) }
  }
}

@Test func readsFullLumaAndWritesNothing() throws {
  let frame = TestFrame(width: 3, height: 3, luma: [UInt8](repeating: 0, count: 9))
  let stage = try StageUnderTest(FocusScore(), for: frame)
  #expect(stage.parts == .luma(.full))
  #expect(stage.writing == nil)
}
