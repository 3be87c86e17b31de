import SprocketPixels
import SprocketYUV
import TestExpectations
import TestSupport
import Testing

@Suite struct PixelConversionTests {
  @Test(arguments: sizes, TestPattern.allCases)
  func copiesRows(size: (Int, Int), pattern: TestPattern) {
    let (w, h) = size
    let source = TestPlane(w, h, pattern, padding: 3)
    let target = TestPlane(w, h, padding: 8)
    PixelConversion.copy(source.source, to: target.target, bytesPerRow: w, rows: h)
    expectEqual(target.rows, source.rows)
    expectTrue(target.isPaddingIntact)
  }

  @Test func repeatsEdges() {
    let plane = TestPlane(8, 6, .ramp)
    let before = plane.rows
    PixelConversion.repeatEdges(
      plane.target, width: 5, height: 3, paddedWidth: 8, paddedHeight: 6)
    expectEqual(plane.rows, TestPlane.expected(8, 6) { x, y in before[min(y, 2)][min(x, 4)] })
    expectTrue(plane.isPaddingIntact)
  }

  @Test(arguments: sizes, PackedOrder.allCases)
  func unpacksPackedPixels(size: (Int, Int), order: PackedOrder) {
    let (w, h) = size
    let cw = (w + 1) / 2
    let source = TestPlane(4 * cw, h, .random)
    let (y, u, v) = (TestPlane(w, h), TestPlane(cw, h), TestPlane(cw, h))
    PixelConversion.unpack(
      source.source, order, y: y.target, u: u.target, v: v.target, width: w, height: h)
    let (luma, blue, red) = order == .yuyv ? (0, 1, 3) : (1, 0, 2)
    expectEqual(y.rows, TestPlane.expected(w, h) { x, row in source[2 * x + luma, row] })
    expectEqual(u.rows, TestPlane.expected(cw, h) { x, row in source[4 * x + blue, row] })
    expectEqual(v.rows, TestPlane.expected(cw, h) { x, row in source[4 * x + red, row] })
    expectTrue(y.isPaddingIntact)
    expectTrue(u.isPaddingIntact)
    expectTrue(v.isPaddingIntact)

    let alone = TestPlane(w, h)
    PixelConversion.unpackLuma(source.source, order, y: alone.target, width: w, height: h)
    expectEqual(alone.rows, y.rows)
    expectTrue(alone.isPaddingIntact)
  }

  @Test(arguments: sizes, PackedOrder.allCases)
  func packsPlanes(size: (Int, Int), order: PackedOrder) {
    let (w, h) = size
    let cw = (w + 1) / 2
    let y = TestPlane(w, h, .random, seed: 1)
    let (luma, blue, red) = order == .yuyv ? (0, 1, 3) : (1, 0, 2)
    let u = TestPlane(cw, h, .random, seed: 2)
    let v = TestPlane(cw, h, .random, seed: 3)
    let target = TestPlane(4 * cw, h)
    PixelConversion.pack422(
      y: y.source, u: u.source, v: v.source, to: target.target, order, width: w, height: h)
    for row in 0..<h {
      for x in 0..<w {
        expectEqual(target[2 * x + luma, row], y[x, row])
        expectEqual(target[4 * (x / 2) + blue, row], u[x / 2, row])
        expectEqual(target[4 * (x / 2) + red, row], v[x / 2, row])
      }
    }
    expectTrue(target.isPaddingIntact)
  }

  @Test(arguments: sizes) func splitsAndMergesChroma(size: (Int, Int)) {
    let (w, h) = size
    let source = TestPlane(2 * w, h, .random)
    let (u, v) = (TestPlane(w, h), TestPlane(w, h))
    PixelConversion.split(
      source.source, first: u.target, second: v.target, width: w, height: h)
    expectEqual(u.rows, TestPlane.expected(w, h) { x, row in source[2 * x, row] })
    expectEqual(v.rows, TestPlane.expected(w, h) { x, row in source[2 * x + 1, row] })
    expectTrue(u.isPaddingIntact)
    expectTrue(v.isPaddingIntact)
    let again = TestPlane(2 * w, h)
    PixelConversion.merge(
      first: u.source, second: v.source, to: again.target, width: w, height: h)
    expectEqual(again.rows, source.rows)
    expectTrue(again.isPaddingIntact)
  }
}
