import SprocketPixels
import SprocketYUV
import TestExpectations
import TestSupport
import Testing

@Suite struct RGBTests {
  @Test(arguments: sizes, RGBOrder.allCases)
  func grayIsTheStatedFormula(size: (Int, Int), order: RGBOrder) {
    let (w, h) = size
    for pattern in TestPattern.allCases {
      let source = TestPlane(order.bytesPerPixel * w, h, pattern)
      let y = TestPlane(w, h)
      PixelConversion.gray(source.source, order, y: y.target, width: w, height: h)
      expectEqual(
        y.rows,
        TestPlane.expected(w, h) { x, row in
          let (r, g, b) = pixel(source, order, x, row)
          return (77 * r + 150 * g + 29 * b + 128) >> 8
        })
      expectTrue(y.isPaddingIntact)
    }
  }

  @Test func grayIsWithinOneOfTheStandard() {
    // BT.601 as in JFIF. All of a coarse cube of colours.
    let values = Array(stride(from: 0, through: 255, by: 15))
    let source = TestPlane(3 * values.count, values.count * values.count)
    for (i, r) in values.enumerated() {
      for (j, g) in values.enumerated() {
        for (k, b) in values.enumerated() {
          let row = i * values.count + j
          source.set(3 * k, row, UInt8(r))
          source.set(3 * k + 1, row, UInt8(g))
          source.set(3 * k + 2, row, UInt8(b))
        }
      }
    }
    let y = TestPlane(values.count, source.height)
    PixelConversion.gray(
      source.source, .rgb, y: y.target, width: values.count, height: source.height)
    var worst = 0.0
    for row in 0..<y.height {
      for x in 0..<y.width {
        let (r, g, b) = pixel(source, .rgb, x, row)
        let exact = 0.299 * Double(r) + 0.587 * Double(g) + 0.114 * Double(b)
        worst = max(worst, abs(exact - Double(y[x, row])))
      }
    }
    print("gray: at most \(worst) from BT.601")
    expectLess(worst, 0.83)
  }

  @Test(arguments: sizes, RGBOrder.allCases)
  func fullChromaIsTheStatedFormulas(size: (Int, Int), order: RGBOrder) {
    let (w, h) = size
    for pattern in TestPattern.allCases {
      let source = TestPlane(order.bytesPerPixel * w, h, pattern)
      let (y, u, v) = (TestPlane(w, h), TestPlane(w, h), TestPlane(w, h))
      PixelConversion.planes444(
        source.source, order, y: y.target, u: u.target, v: v.target, width: w, height: h)
      var off = 0.0
      for row in 0..<h {
        for x in 0..<w {
          let (r, g, b) = pixel(source, order, x, row)
          expectEqual(y[x, row], (77 * r + 150 * g + 29 * b + 128) >> 8)
          expectEqual(u[x, row], (127 * b - 84 * g - 43 * r + 32896) >> 8)
          expectEqual(v[x, row], (127 * r - 107 * g - 20 * b + 32896) >> 8)
          let (red, green, blue) = (Double(r), Double(g), Double(b))
          let exactU = 128 - 0.168736 * red - 0.331264 * green + 0.5 * blue
          let exactV = 128 + 0.5 * red - 0.418688 * green - 0.081312 * blue
          off = max(off, abs(Double(u[x, row]) - exactU), abs(Double(v[x, row]) - exactV))
        }
      }
      expectLess(off, 1.6, "off by \(off)")
      expectTrue(y.isPaddingIntact)
      expectTrue(u.isPaddingIntact)
      expectTrue(v.isPaddingIntact)
    }
  }

  @Test(arguments: sizes, RGBOrder.allCases)
  func packsPixelsAsJFIFSays(size: (Int, Int), order: RGBOrder) {
    let (w, h) = size
    for pattern in TestPattern.allCases {
      let y = TestPlane(w, h, pattern, seed: 1)
      let u = TestPlane(w, h, pattern, seed: 2)
      let v = TestPlane(w, h, pattern, seed: 3)
      let target = TestPlane(order.bytesPerPixel * w, h)
      PixelConversion.pack444(
        y: y.source, u: u.source, v: v.source, to: target.target, order, width: w, height: h)
      var off = 0.0
      for row in 0..<h {
        for x in 0..<w {
          let (luma, blue, red) = (
            Double(y[x, row]), Double(u[x, row]) - 128, Double(v[x, row]) - 128
          )
          let (r, g, b) = pixel(target, order, x, row)
          off = max(
            off, abs(clamp(luma + 1.402 * red) - Double(r)),
            abs(clamp(luma - 0.344136 * blue - 0.714136 * red) - Double(g)),
            abs(clamp(luma + 1.772 * blue) - Double(b)))
          let unused: Int? =
            switch order {
            case .rgb, .bgr: nil
            case .bgrx, .bgra, .rgba: 3
            case .xrgb, .argb: 0
            }
          if let unused { expectEqual(target[4 * x + unused, row], 255) }
        }
      }
      expectLess(off, 0.501, "off by \(off)")
      expectTrue(target.isPaddingIntact)
    }
  }

  @Test(arguments: RGBOrder.allCases) func grayPixelsStayGray(order: RGBOrder) {
    let source = TestPlane(256 * order.bytesPerPixel, 2)
    for x in 0..<source.width {
      for row in 0..<2 { source.set(x, row, UInt8(x / order.bytesPerPixel)) }
    }
    let (y, u, v) = (TestPlane(256, 2), TestPlane(256, 2), TestPlane(256, 2))
    PixelConversion.planes444(
      source.source, order, y: y.target, u: u.target, v: v.target, width: 256, height: 2)
    expectEqual(y.rows, TestPlane.expected(256, 2) { x, _ in x })
    expectEqual(u.rows, TestPlane.expected(256, 2) { _, _ in 128 })
    expectEqual(v.rows, u.rows)
    let back = TestPlane(256 * order.bytesPerPixel, 2)
    PixelConversion.pack444(
      y: y.source, u: u.source, v: v.source, to: back.target, order, width: 256, height: 2)
    for x in 0..<256 { #expect(pixel(back, order, x, 1) == (x, x, x)) }
  }
}

/// A pixel's red, green and blue.
private func pixel(
  _ plane: TestPlane, _ order: RGBOrder, _ x: Int, _ row: Int
) -> (Int, Int, Int) {
  let at = order.bytesPerPixel * x
  switch order {
  case .rgb, .rgba: return (plane[at, row], plane[at + 1, row], plane[at + 2, row])
  case .bgr, .bgrx, .bgra: return (plane[at + 2, row], plane[at + 1, row], plane[at, row])
  case .xrgb, .argb: return (plane[at + 1, row], plane[at + 2, row], plane[at + 3, row])
  }
}

private func clamp(_ value: Double) -> Double { min(max(value, 0), 255) }
