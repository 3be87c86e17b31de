import SprocketTestMemory
import SprocketZBar
import TestExpectations
import Testing

@Suite struct ZBarScannerTests {
  /// Finder patterns, bars and noise in all sizes: what the library takes for the start of a code.
  private func hostile(_ width: Int, _ height: Int, _ random: inout TestRandom) -> [UInt8] {
    var luma = [UInt8](repeating: UInt8(random.next() % 256), count: width * height)
    for _ in 0..<random.next() % 40 {
      let module = Int(random.next() % 9) + 1
      let (left, top) = (Int(random.next() % UInt64(width)), Int(random.next() % UInt64(height)))
      let isFinder = random.next() % 2 == 0
      let bits = random.next()
      for y in 0..<7 * module {
        for x in 0..<7 * module where left + x < width && top + y < height {
          let (column, row) = (x / module, y / module)
          let ring = max(abs(column - 3), abs(row - 3))
          let isDark = isFinder ? ring != 2 : bits >> UInt64(column * 3) & 1 == 1
          luma[(top + y) * width + left + x] = isDark ? 10 : 240
        }
      }
    }
    let noise = Int(random.next() % 120)
    for index in luma.indices where noise > 60 {
      let level = Int(luma[index]) + Int(random.next() % UInt64(2 * noise)) - noise
      luma[index] = UInt8(min(max(level, 0), 255))
    }
    return luma
  }

  @Test func noPictureStopsTheScanner() throws {
    var random = TestRandom(seed: 18)
    var scanner = try ZBarScanner(Set(ZBarSymbology.allCases))
    for _ in 0..<300 {
      let (width, height) = (Int(random.next() % 200) + 1, Int(random.next() % 200) + 1)
      let luma = hostile(width, height, &random)
      scanner.scan(luma.span, width: width, height: height) { symbol in
        for index in 0..<symbol.pointCount { _ = symbol.point(index) }
        symbol.withPayload { expectLess($0.count, 100_000) }
      }
    }
  }

  @Test func emptyPicturesHaveNoCodes() throws {
    var scanner = try ZBarScanner([.qr])
    var count = 0
    let luma = [UInt8](repeating: 0, count: 16)
    for (width, height) in [(0, 0), (0, 4), (4, 0), (1, 1), (1, 16), (16, 1)] {
      scanner.scan(luma.span, width: width, height: height) { _ in count += 1 }
    }
    expectEqual(count, 0)
  }
}
