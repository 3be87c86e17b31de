import SprocketYUV
import TestExpectations
import TestSupport
import Testing

@Suite struct LumaTests {
  @Test func fullRangeIsTheRoundedFormulaForEverySample() {
    let source = TestPlane(256, 1)
    for x in 0..<256 { source.set(x, 0, UInt8(x)) }
    let target = TestPlane(256, 1)
    LumaConversion.limitedToFull(source.source, to: target.target, width: 256, height: 1)
    let expected = TestPlane.expected(256, 1) { x, _ in
      Int(min(max((Double(x - 16) * 255 / 219).rounded(), 0), 255))
    }
    expectEqual(target.rows, expected)
    LumaConversion.limitedToFull(source.target, width: 256, height: 1)
    expectEqual(source.rows, expected)
  }

  @Test(arguments: sizes) func fullRangeKeepsToThePlane(size: (Int, Int)) {
    let (w, h) = size
    let source = TestPlane(w, h, .random)
    let target = TestPlane(w, h, padding: 2)
    LumaConversion.limitedToFull(source.source, to: target.target, width: w, height: h)
    LumaConversion.limitedToFull(source.target, width: w, height: h)
    expectEqual(source.rows, target.rows)
    expectTrue(source.isPaddingIntact)
    expectTrue(target.isPaddingIntact)
  }

  @Test(arguments: LumaConversion.WordBits.allCases, [false, true])
  func wordsAreRoundedForEverySample(bits: LumaConversion.WordBits, isLimited: Bool) {
    let (source, target) = (words(0..<65536), TestPlane(65536, 1))
    LumaConversion.wordsToEightBits(
      source.source, bits: bits, isLimited: isLimited, to: target.target, width: 65536, height: 1)
    expectEqual(
      target.rows, TestPlane.expected(65536, 1) { v, _ in eight(v, bits, isLimited: isLimited) })
  }

  @Test(arguments: LumaConversion.WordBits.allCases, sizes)
  func wordsMayLieAtOddAddresses(bits: LumaConversion.WordBits, size: (Int, Int)) {
    let (w, h) = size
    let (source, target) = (TestPlane(2 * w, h, .random, padding: 3), TestPlane(w, h))
    LumaConversion.wordsToEightBits(
      source.source, bits: bits, isLimited: false, to: target.target, width: w, height: h)
    expectEqual(
      target.rows,
      TestPlane.expected(w, h) { x, y in
        eight(source[2 * x, y] + 256 * source[2 * x + 1, y], bits, isLimited: false)
      })
    expectTrue(target.isPaddingIntact)
  }

  private func eight(_ word: Int, _ bits: LumaConversion.WordBits, isLimited: Bool) -> Int {
    let largest = Double(1 << bits.rawValue) - (isLimited ? 0 : 1)
    return Int(min((Double(word) * (isLimited ? 256 : 255) / largest).rounded(), 255))
  }

  @Test(arguments: [2, 4, 8], TestPattern.allCases)
  func boxMeansAreExactAlsoAtTheEdges(factor: Int, pattern: TestPattern) {
    for (w, h) in sizes + [(1920, 9), (65, 65)] {
      let source = TestPlane(w, h, pattern)
      let (cw, ch) = (BoxMean.scaled(w, by: factor), BoxMean.scaled(h, by: factor))
      expectEqual(cw, Int((Double(w) / Double(factor)).rounded(.up)))
      let target = TestPlane(cw, ch)
      BoxMean.scale(source.source, width: w, height: h, by: factor, to: target.target)
      #expect(
        target.rows
          == TestPlane.expected(cw, ch) { x, y in
            var (sum, count) = (0, 0)
            for row in y * factor..<min((y + 1) * factor, h) {
              for column in x * factor..<min((x + 1) * factor, w) {
                sum += source[column, row]
                count += 1
              }
            }
            // Half a count is a whole number for all boxes but those of odd size.
            return (2 * sum + count) / (2 * count)
          }, "\(w)x\(h) by \(factor)")
      expectTrue(target.isPaddingIntact)
    }
  }

  /// 16-bit little-endian words.
  private func words(_ values: Range<Int>) -> TestPlane {
    let plane = TestPlane(2 * values.count, 1)
    for value in values {
      plane.set(2 * value, 0, UInt8(value & 255))
      plane.set(2 * value + 1, 0, UInt8(value >> 8))
    }
    return plane
  }
}
