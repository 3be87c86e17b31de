internal import CSprocketYUV

extension PixelConversion {
  /// Red, green and blue into three planes of 4:4:4 with full range (JFIF), a chroma sample for every
  /// pixel.
  ///
  /// Luma is as in ``gray(_:_:y:width:height:)``; chroma is `(127 B - 84 G - 43 R + 32896) >> 8` and
  /// `(127 R - 107 G - 20 B + 32896) >> 8`: BT.601 in 8-bit fractions, within 1.5 of the exact values.
  ///
  /// The library has this for limited range alone. The corresponding C functions are those of
  /// ``gray(_:_:y:width:height:)``, `RAWToARGB`, `RGB24ToARGB` and `BGRAToARGB`.
  public static func planes444(
    _ source: PlaneBytes, _ order: RGBOrder, y: MutablePlaneBytes, u: MutablePlaneBytes,
    v: MutablePlaneBytes, width: Int, height: Int
  ) {
    gray(source, order, y: y, width: width, height: height)
    let (from, fromStride) = unsafe source.checked(order.bytesPerPixel * width, height)
    let (toU, _) = unsafe u.checked(width, height)
    let (toV, _) = unsafe v.checked(width, height)
    var storage = InlineArray<4096, UInt8>(repeating: 0)
    var span = storage.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { memory in
      guard let tile = memory.baseAddress else { return }
      let tileColumns = memory.count / 4
      for row in 0..<height {
        let line = unsafe from + row * Int(fromStride)
        var column = 0
        while column < width {
          let count = min(tileColumns, width - column)
          let pixels = unsafe bgrx(
            line + column * order.bytesPerPixel, order, count: count, tile: tile)
          unsafe chromaRow(
            pixels, toU + row * u.stride + column, toV + row * v.stride + column, count)
          column += count
        }
      }
    }
  }

  /// Pixels as B G R X: where they are, or turned so in `tile`.
  private static func bgrx(
    _ pixels: UnsafePointer<UInt8>, _ order: RGBOrder, count: Int,
    tile: UnsafeMutablePointer<UInt8>
  ) -> UnsafePointer<UInt8> {
    if order == .bgrx { return unsafe pixels }
    let convert = unsafe order == .rgb ? RAWToARGB : order == .bgr ? RGB24ToARGB : BGRAToARGB
    succeeded(
      unsafe convert(
        pixels, Int32(order.bytesPerPixel * count), tile, Int32(4 * count), Int32(count), 1))
    return unsafe UnsafePointer(tile)
  }
}

/// Chroma of pixels that lie as B G R X.
private func chromaRow(
  _ pixels: UnsafePointer<UInt8>, _ u: UnsafeMutablePointer<UInt8>,
  _ v: UnsafeMutablePointer<UInt8>, _ count: Int
) {
  for index in 0..<count {
    let pixel = unsafe UInt32(
      littleEndian: UnsafeRawPointer(pixels).loadUnaligned(
        fromByteOffset: 4 &* index, as: UInt32.self))
    let blue = UInt16(truncatingIfNeeded: pixel & 255)
    let green = UInt16(truncatingIfNeeded: (pixel >> 8) & 255)
    let red = UInt16(truncatingIfNeeded: (pixel >> 16) & 255)
    // 511 to 65281: what goes below zero on the way comes back, modulo 2^16.
    let first = 32896 &+ blue &* 127 &- green &* 84 &- red &* 43
    let second = 32896 &+ red &* 127 &- green &* 107 &- blue &* 20
    unsafe u[index] = UInt8(truncatingIfNeeded: first >> 8)
    unsafe v[index] = UInt8(truncatingIfNeeded: second >> 8)
  }
}
