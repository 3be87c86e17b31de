internal import CSprocketYUV
public import SprocketPixels

extension PixelConversion {
  /// Red, green and blue into three planes of 4:4:4 with full range (JFIF).
  ///
  /// Luma is as in ``gray(_:_:y:width:height:)``; chroma is `(127 B - 84 G - 43 R + 32896) >> 8` and
  /// `(127 R - 107 G - 20 B + 32896) >> 8`, within 1.6 of JFIF's formulas. The library has no such
  /// conversion with full range.
  ///
  /// The corresponding C functions are `SplitRGBPlane` and `SplitARGBPlane`, before the formulas.
  public static func planes444(
    _ source: PlaneBytes, _ order: RGBOrder, y: MutablePlaneBytes, u: MutablePlaneBytes,
    v: MutablePlaneBytes, width: Int, height: Int
  ) {
    let bytesPerPixel = order.bytesPerPixel
    let (from, fromStride) = unsafe source.checked(bytesPerPixel * width, height)
    let (toY, strideY) = unsafe y.checked(width, height)
    let (toU, strideU) = unsafe u.checked(width, height)
    let (toV, strideV) = unsafe v.checked(width, height)
    // Three runs of 256 samples, on the stack; a fourth for what is unused.
    var storage = InlineArray<1024, UInt8>(repeating: 0)
    var span = storage.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { memory in
      guard let runs = memory.baseAddress else { return }
      for row in 0..<height {
        var column = 0
        while column < width {
          let count = min(256, width - column)
          unsafe split(
            from + row * Int(fromStride) + column * bytesPerPixel, order, runs, Int32(count))
          unsafe convertRun(
            runs, toY + row * Int(strideY) + column, toU + row * Int(strideU) + column,
            toV + row * Int(strideV) + column, count)
          column += count
        }
      }
    }
  }

  /// Three planes of 4:4:4 with full range (JFIF) into red, green and blue; unused bytes are 255. The
  /// formulas of ITU-T T.871 in 16-bit fixed point, rounded. The library has no such conversion that is
  /// exact.
  public static func pack444(
    y: PlaneBytes, u: PlaneBytes, v: PlaneBytes, to target: MutablePlaneBytes, _ order: RGBOrder,
    width: Int, height: Int
  ) {
    let (fromY, strideY) = unsafe y.checked(width, height)
    let (fromU, strideU) = unsafe u.checked(width, height)
    let (fromV, strideV) = unsafe v.checked(width, height)
    let (to, toStride) = unsafe target.checked(order.bytesPerPixel * width, height)
    // Positions of red, green, blue and the unused byte in a pixel. For three bytes per pixel, the unused
    // byte's position is red's, which is written afterwards.
    let (red, green, blue, unused) =
      switch order {
      case .rgb: (0, 1, 2, 0)
      case .bgr: (2, 1, 0, 2)
      case .bgrx, .bgra: (2, 1, 0, 3)
      case .xrgb, .argb: (1, 2, 3, 0)
      case .rgba: (0, 1, 2, 3)
      }
    for row in 0..<height {
      let (lumaRow, start) = unsafe (fromY + row * Int(strideY), to + row * Int(toStride))
      let (blueRow, redRow) = unsafe (fromU + row * Int(strideU), fromV + row * Int(strideV))
      for column in 0..<width {
        let luma = unsafe Int32(lumaRow[column])
        let cb = unsafe Int32(blueRow[column]) &- 128
        let cr = unsafe Int32(redRow[column]) &- 128
        let pixel = unsafe start + column &* order.bytesPerPixel
        unsafe pixel[unused] = 255
        unsafe pixel[red] = level(luma, cr &* 91881)
        unsafe pixel[green] = level(luma, cb &* -22554 &+ cr &* -46802)
        unsafe pixel[blue] = level(luma, cb &* 116130)
      }
    }
  }

  /// `count` pixels into runs of red, green and blue, 256 bytes apart.
  private static func split(
    _ source: UnsafePointer<UInt8>, _ order: RGBOrder, _ runs: UnsafeMutablePointer<UInt8>,
    _ count: Int32
  ) {
    let (first, second, third) = unsafe (runs, runs + 256, runs + 512)
    switch order {
    case .rgb:
      unsafe SplitRGBPlane(source, 0, first, 0, second, 0, third, 0, count, 1)
    case .bgr:
      unsafe SplitRGBPlane(source, 0, third, 0, second, 0, first, 0, count, 1)
    case .rgba:
      unsafe SplitARGBPlane(source, 0, third, 0, second, 0, first, 0, runs + 768, 0, count, 1)
    case .bgrx, .bgra:
      // The library's order of results is red, green, blue, alpha; of bytes, blue first.
      unsafe SplitARGBPlane(source, 0, first, 0, second, 0, third, 0, runs + 768, 0, count, 1)
    case .xrgb, .argb:
      // The bytes X R G B are the library's blue, green, red, alpha.
      unsafe SplitARGBPlane(source, 0, second, 0, first, 0, runs + 768, 0, third, 0, count, 1)
    }
  }
}

/// The formulas for one run. Luma needs at most 256 * 255 + 128 = 65408, chroma 127 * 255 + 128 = 32513
/// either way: 16 bits suffice.
private func convertRun(
  _ runs: UnsafeMutablePointer<UInt8>, _ y: UnsafeMutablePointer<UInt8>,
  _ u: UnsafeMutablePointer<UInt8>, _ v: UnsafeMutablePointer<UInt8>, _ count: Int
) {
  for index in 0..<count {
    let r = unsafe UInt16(runs[index])
    let g = unsafe UInt16(runs[256 &+ index])
    let b = unsafe UInt16(runs[512 &+ index])
    unsafe y[index] = UInt8(truncatingIfNeeded: (77 &* r &+ 150 &* g &+ 29 &* b &+ 128) &>> 8)
  }
  for index in 0..<count {
    let r = unsafe Int16(runs[index])
    let g = unsafe Int16(runs[256 &+ index])
    let b = unsafe Int16(runs[512 &+ index])
    let blue = (127 &* b &- 84 &* g &- 43 &* r &+ 128) &>> 8
    let red = (127 &* r &- 107 &* g &- 20 &* b &+ 128) &>> 8
    unsafe u[index] = UInt8(truncatingIfNeeded: blue &+ 128)
    unsafe v[index] = UInt8(truncatingIfNeeded: red &+ 128)
  }
}

/// Luma and an offset in 1/65536, rounded and clamped. Bound: 255 * 2^16 + 128 * 116130 < 2^25.
@inline(__always)
private func level(_ luma: Int32, _ offset: Int32) -> UInt8 {
  let value = (luma << 16 &+ offset &+ 32768) >> 16
  return UInt8(truncatingIfNeeded: value < 0 ? 0 : value > 255 ? 255 : value)
}
