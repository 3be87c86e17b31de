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

  /// Samples of 10, 12 or 16 bits in 16-bit little-endian words (V4L2's `Y10 `, `Y12 `, `Y16 `) to 8 bits,
  /// rounded to nearest. The source's rows are `2 * width` bytes. Words above the largest sample become 255.
  ///
  /// Full range is `v * 255 / (2^bits - 1)`. Limited range stays limited, and is `v / 2^(bits - 8)` (ITU-T
  /// H.273, equations 20 to 31).
  public static func wordsToEightBits(
    _ source: PlaneBytes, bits: WordBits, isLimited: Bool, to target: MutablePlaneBytes, width: Int,
    height: Int
  ) {
    let (from, _) = unsafe source.checked(2 * width, height)
    let (to, _) = unsafe target.checked(width, height)
    let scale = isLimited ? bits.limited : bits.full
    for row in 0..<height {
      unsafe wordsToEightBitsRow(from + row * source.stride, scale, to + row * target.stride, width)
    }
  }

  /// Bits of a sample that lies in a word.
  public enum WordBits: Int, CaseIterable, Sendable {
    case ten = 10
    case twelve = 12
    case sixteen = 16

    // `(v * factor + half) >> 16` is the rounded quotient of every sample (found, and tested, by trying all).
    fileprivate var full: WordScale {
      switch self {
      case .ten: WordScale(factor: 16336, half: 32768, most: 1023)
      case .twelve: WordScale(factor: 4081, half: 32768, most: 4095)
      case .sixteen: WordScale(factor: 255, half: 32895, most: 65535)
      }
    }

    fileprivate var limited: WordScale {
      let one = UInt16(1) << (rawValue - 8)
      // Larger samples would be rounded to 256.
      return WordScale(
        factor: 65536 >> UInt32(rawValue - 8), half: 32768, most: 255 * one + (one / 2 - 1))
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

private struct WordScale {
  let factor: UInt32
  let half: UInt32
  let most: UInt16
}

private func wordsToEightBitsRow(
  _ source: UnsafePointer<UInt8>, _ scale: WordScale, _ target: UnsafeMutablePointer<UInt8>,
  _ count: Int
) {
  for index in 0..<count {
    let sample = unsafe UInt32(min(word(source, index), scale.most))
    unsafe target[index] = UInt8(truncatingIfNeeded: (sample &* scale.factor &+ scale.half) >> 16)
  }
}
