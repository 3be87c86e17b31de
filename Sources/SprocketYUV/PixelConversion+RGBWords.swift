public import SprocketPixels

// Red, green and blue of 16 bits, in little-endian words. The library has no such conversions.

extension PixelConversion {
  /// Planes of 4:4:4 in words, full range: the formulas of JFIF (ITU-T T.871) with 16 bits, rounded once.
  /// A pixel is three words, or four with alpha, which is left out.
  public static func planes444Words(
    _ source: PlaneBytes, _ words: RGBWords, y: MutablePlaneBytes, u: MutablePlaneBytes,
    v: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, _) = unsafe source.checked(2 * words.perPixel * width, height)
    let (toY, _) = unsafe y.checked(2 * width, height)
    let (toU, _) = unsafe u.checked(2 * width, height)
    let (toV, _) = unsafe v.checked(2 * width, height)
    for row in 0..<height {
      let pixels = unsafe UnsafeRawPointer(from + row * source.stride)
      let luma = unsafe UnsafeMutableRawPointer(toY + row * y.stride)
      let blue = unsafe UnsafeMutableRawPointer(toU + row * u.stride)
      let red = unsafe UnsafeMutableRawPointer(toV + row * v.stride)
      for column in 0..<width {
        let (r, g, b) = unsafe pixel(pixels, words.perPixel &* column)
        let exact = luminance(r, g, b)
        unsafe store(exact, luma, column)
        unsafe store(32768 + (b - exact) / 1.772, blue, column)
        unsafe store(32768 + (r - exact) / 1.402, red, column)
      }
    }
  }

  /// Luma alone.
  public static func grayWords(
    _ source: PlaneBytes, _ words: RGBWords, y: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, _) = unsafe source.checked(2 * words.perPixel * width, height)
    let (to, _) = unsafe y.checked(2 * width, height)
    for row in 0..<height {
      let pixels = unsafe UnsafeRawPointer(from + row * source.stride)
      let luma = unsafe UnsafeMutableRawPointer(to + row * y.stride)
      for column in 0..<width {
        let (r, g, b) = unsafe pixel(pixels, words.perPixel &* column)
        unsafe store(luminance(r, g, b), luma, column)
      }
    }
  }
}

@inline(__always)
private func luminance(_ red: Float, _ green: Float, _ blue: Float) -> Float {
  0.299 * red + 0.587 * green + 0.114 * blue
}

@inline(__always)
private func pixel(_ row: UnsafeRawPointer, _ place: Int) -> (Float, Float, Float) {
  unsafe (word(row, place), word(row, place &+ 1), word(row, place &+ 2))
}

@inline(__always)
private func word(_ row: UnsafeRawPointer, _ place: Int) -> Float {
  unsafe Float(UInt16(littleEndian: row.loadUnaligned(fromByteOffset: 2 &* place, as: UInt16.self)))
}

@inline(__always)
private func store(_ level: Float, _ row: UnsafeMutableRawPointer, _ place: Int) {
  let word = UInt16(truncatingIfNeeded: Int32(min(max(level, 0), 65535) + 0.5))
  unsafe row.storeBytes(of: word.littleEndian, toByteOffset: 2 &* place, as: UInt16.self)
}
