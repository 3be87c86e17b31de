public import SprocketPixels

// Samples of more than 8 bits that do not lie in the low bits of words. Results do: 16-bit little-endian
// words. Rows may begin at any address, which the library's own functions do not allow.

extension PixelConversion {
  /// Moves samples from the high bits of words, as in P010, to the low bits. Rows are `2 * width` bytes.
  public static func lowerWords(
    _ source: PlaneBytes, bits: Int, to target: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, _) = unsafe source.checked(2 * width, height)
    let (to, _) = unsafe target.checked(2 * width, height)
    for row in 0..<height {
      unsafe lowerRow(
        UnsafeRawPointer(from + row * source.stride),
        UnsafeMutableRawPointer(to + row * target.stride), UInt16(16 - bits), width)
    }
  }

  /// An interleaved chroma plane of such words, of `width` by `height` pairs, into two.
  public static func splitWords(
    _ source: PlaneBytes, bits: Int, first: MutablePlaneBytes, second: MutablePlaneBytes,
    width: Int,
    height: Int
  ) {
    let (from, _) = unsafe source.checked(4 * width, height)
    let (one, _) = unsafe first.checked(2 * width, height)
    let (other, _) = unsafe second.checked(2 * width, height)
    for row in 0..<height {
      unsafe splitRow(
        UnsafeRawPointer(from + row * source.stride),
        UnsafeMutableRawPointer(one + row * first.stride),
        UnsafeMutableRawPointer(other + row * second.stride), UInt16(16 - bits), width)
    }
  }

  /// Luma packed as MIPI CSI-2 has it (V4L2's `Y10P` and `Y12P`) to words. `samples` are `.packedTen` or
  /// `.packedTwelve`; rows of the target are `2 * width` bytes.
  public static func unpackGray(
    _ source: PlaneBytes, _ samples: BayerSamples, to target: MutablePlaneBytes, width: Int,
    height: Int
  ) {
    let (from, _) = unsafe source.checked(samples.bytesPerRow(width: width), height)
    let (to, _) = unsafe target.checked(2 * width, height)
    for row in 0..<height {
      let bytes = unsafe from + row * source.stride
      let words = unsafe UnsafeMutableRawPointer(to + row * target.stride)
      if samples == .packedTen {
        unsafe unpackRow(bytes, words, width, pixels: 4, lowBits: 2)
      } else {
        unsafe unpackRow(bytes, words, width, pixels: 2, lowBits: 4)
      }
    }
  }
}

@inline(__always)
private func word(_ row: UnsafeRawPointer, _ index: Int) -> UInt16 {
  unsafe UInt16(littleEndian: row.loadUnaligned(fromByteOffset: 2 &* index, as: UInt16.self))
}

@inline(__always)
private func store(_ word: UInt16, _ row: UnsafeMutableRawPointer, _ index: Int) {
  unsafe row.storeBytes(of: word.littleEndian, toByteOffset: 2 &* index, as: UInt16.self)
}

private func lowerRow(
  _ from: UnsafeRawPointer, _ to: UnsafeMutableRawPointer, _ shift: UInt16, _ count: Int
) {
  for index in 0..<count { unsafe store(word(from, index) &>> shift, to, index) }
}

private func splitRow(
  _ from: UnsafeRawPointer, _ first: UnsafeMutableRawPointer, _ second: UnsafeMutableRawPointer,
  _ shift: UInt16, _ count: Int
) {
  for index in 0..<count {
    unsafe store(word(from, 2 &* index) &>> shift, first, index)
    unsafe store(word(from, 2 &* index &+ 1) &>> shift, second, index)
  }
}

/// Unpacks groups of `pixels`: a byte with the upper bits of each, then one with the `lowBits` of all.
@inline(__always)
private func unpackRow(
  _ bytes: UnsafePointer<UInt8>, _ words: UnsafeMutableRawPointer, _ count: Int, pixels: Int,
  lowBits: UInt16
) {
  for index in 0..<count {
    let group = unsafe bytes + (pixels &+ 1) &* (index / pixels)
    let place = index % pixels
    let low =
      unsafe UInt16(group[pixels]) &>> (lowBits &* UInt16(truncatingIfNeeded: place))
      & (1 &<< lowBits &- 1)
    unsafe store(UInt16(group[place]) &<< lowBits | low, words, index)
  }
}
