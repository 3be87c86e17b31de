public import SprocketPixels

/// Kernels that make the luma that stages see, full range and 8 bits, from what cameras send. The
/// library has none that are exact.
public enum LumaConversion {
  /// Limited range (16 to 235) to full range, in place: `round((y - 16) * 255 / 219)`, clamped.
  public static func limitedToFull(_ plane: MutablePlaneBytes, width: Int, height: Int) {
    let (base, _) = unsafe plane.checked(width, height)
    for row in 0..<height { unsafe limitedToFullRow(base + row * plane.stride, width) }
  }

  /// Limited range to full range, into another plane. See ``limitedToFull(_:width:height:)``.
  public static func limitedToFull(
    _ source: PlaneBytes, to target: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, _) = unsafe source.checked(width, height)
    let (to, _) = unsafe target.checked(width, height)
    for row in 0..<height {
      unsafe limitedToFullRow(from + row * source.stride, to + row * target.stride, width)
    }
  }

  /// 10-bit samples in 16-bit little-endian words (V4L2's `Y10 `) to 8 bits:
  /// `(v + 2) >> 2`, at most 255. Bits above the tenth must be 0. The source's rows are `2 * width`
  /// bytes.
  public static func tenBitsToEight(
    _ source: PlaneBytes, to target: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, _) = unsafe source.checked(2 * width, height)
    let (to, _) = unsafe target.checked(width, height)
    for row in 0..<height {
      unsafe tenToEightRow(from + row * source.stride, to + row * target.stride, width)
    }
  }

  /// 12-bit samples in 16-bit little-endian words (V4L2's `Y12 `) to 8 bits:
  /// `(v + 8) >> 4`, at most 255. Bits above the twelfth must be 0. The source's rows are `2 * width`
  /// bytes.
  public static func twelveBitsToEight(
    _ source: PlaneBytes, to target: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, _) = unsafe source.checked(2 * width, height)
    let (to, _) = unsafe target.checked(width, height)
    for row in 0..<height {
      unsafe twelveToEightRow(from + row * source.stride, to + row * target.stride, width)
    }
  }

  /// 16-bit little-endian samples (V4L2's `Y16 `) to 8 bits: `(v + 128) >> 8`, at most 255. The
  /// source's rows are `2 * width` bytes.
  public static func sixteenBitsToEight(
    _ source: PlaneBytes, to target: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, _) = unsafe source.checked(2 * width, height)
    let (to, _) = unsafe target.checked(width, height)
    for row in 0..<height {
      unsafe sixteenToEightRow(from + row * source.stride, to + row * target.stride, width)
    }
  }
}

/// `round(a * 255 / 219)` for `a` in 0...219, with 16-bit products that vectorise.
///
/// `255 a + 109` is at most 55954. Dividing by 219 is multiplying by 38305 = ceil(2^23 / 219) and
/// shifting by 23, exact for all 16-bit numbers (Granlund and Montgomery 1994, theorem 4.2).
@inline(__always)
private func fullRange(_ sample: UInt8) -> UInt8 {
  let above = UInt16(min(max(sample, 16), 235) &- 16)
  let product = UInt32(above &* 255 &+ 109) &* 38305
  return UInt8(truncatingIfNeeded: UInt16(truncatingIfNeeded: product >> 16) >> 7)
}

private func limitedToFullRow(_ row: UnsafeMutablePointer<UInt8>, _ count: Int) {
  for index in 0..<count { unsafe row[index] = unsafe fullRange(row[index]) }
}

private func limitedToFullRow(
  _ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<UInt8>, _ count: Int
) {
  for index in 0..<count { unsafe target[index] = unsafe fullRange(source[index]) }
}

/// The 16-bit little-endian word number `index`, at any address.
@inline(__always)
private func word(_ source: UnsafePointer<UInt8>, _ index: Int) -> UInt16 {
  unsafe UInt16(
    littleEndian: UnsafeRawPointer(source).loadUnaligned(
      fromByteOffset: 2 &* index, as: UInt16.self))
}

private func tenToEightRow(
  _ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<UInt8>, _ count: Int
) {
  for index in 0..<count {
    // Clamped first, so that no word overflows: 1021 + 2 >> 2 is 255.
    let sample = unsafe min(word(source, index), 1021)
    unsafe target[index] = UInt8(truncatingIfNeeded: (sample &+ 2) >> 2)
  }
}

private func twelveToEightRow(
  _ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<UInt8>, _ count: Int
) {
  for index in 0..<count {
    // Clamped first, so that no word overflows: 4087 + 8 >> 4 is 255.
    let sample = unsafe min(word(source, index), 4087)
    unsafe target[index] = UInt8(truncatingIfNeeded: (sample &+ 8) >> 4)
  }
}

private func sixteenToEightRow(
  _ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<UInt8>, _ count: Int
) {
  for index in 0..<count {
    // Clamped first, so that no word overflows: 65407 + 128 is 65535.
    let sample = unsafe min(word(source, index), 65407)
    unsafe target[index] = UInt8(truncatingIfNeeded: (sample &+ 128) >> 8)
  }
}
