// Kernels that turn rows of planar full-range YUV (JFIF) into V4L2's packed formats.
// Byte orders: the kernel's "Image Formats" chapter.

/// Interleaves two rows: a b a b ... (NV12 with U first, NV21 with V first).
package func interleaveRow(
  _ first: Span<UInt8>, _ second: Span<UInt8>, into out: inout MutableSpan<UInt8>
) {
  let count = first.count
  precondition(second.count == count && out.count == 2 &* count)
  for i in 0..<count {
    out[2 &* i] = first[i]
    out[2 &* i &+ 1] = second[i]
  }
}

/// Packs a row of 4:2:2 as Y U Y V, or with `isChromaFirst` as U Y V Y. An odd last pixel is
/// repeated in its pair.
package func packPairsRow(
  _ luma: Span<UInt8>, _ u: Span<UInt8>, _ v: Span<UInt8>, isChromaFirst: Bool,
  into out: inout MutableSpan<UInt8>
) {
  let pairs = u.count
  precondition(v.count == pairs && (luma.count &+ 1) / 2 == pairs && out.count == 4 &* pairs)
  let (atLuma, atChroma) = isChromaFirst ? (1, 0) : (0, 1)
  let last = luma.count &- 1
  for i in 0..<pairs {
    let second = 2 &* i &+ 1
    out[4 &* i &+ atLuma] = luma[2 &* i]
    out[4 &* i &+ atLuma &+ 2] = luma[second > last ? last : second]
    out[4 &* i &+ atChroma] = u[i]
    out[4 &* i &+ atChroma &+ 2] = v[i]
  }
}

/// Red (0), green (1) or blue (2) of one pixel, ITU-T T.871 in 16-bit fixed point.
/// Bound: 255 * 2^16 + 128 * 116130 < 2^25.
@inline(__always)
private func channel(_ index: Int, _ luma: UInt8, _ u: UInt8, _ v: UInt8) -> UInt8 {
  let cb = Int32(u) &- 128
  let cr = Int32(v) &- 128
  let offset =
    switch index {
    case 0: cr &* 91881
    case 1: cb &* -22554 &+ cr &* -46802
    default: cb &* 116130
    }
  let value = (Int32(luma) << 16 &+ offset &+ 32768) >> 16
  return UInt8(truncatingIfNeeded: value < 0 ? 0 : value > 255 ? 255 : value)
}

/// Where red, green and blue lie within a pixel's bytes.
package struct RGBOrder: Sendable {
  package var bytes: Int
  package var red: Int
  package var green: Int
  package var blue: Int

  package static let rgb24 = RGBOrder(bytes: 3, red: 0, green: 1, blue: 2)
  package static let bgr24 = RGBOrder(bytes: 3, red: 2, green: 1, blue: 0)
  /// B G R X.
  package static let bgr32 = RGBOrder(bytes: 4, red: 2, green: 1, blue: 0)
  /// X R G B.
  package static let rgb32 = RGBOrder(bytes: 4, red: 1, green: 2, blue: 3)
}

/// Converts a row of 4:4:4 to RGB; a fourth byte becomes 255.
package func packRGBRow(
  _ luma: Span<UInt8>, _ u: Span<UInt8>, _ v: Span<UInt8>, order: RGBOrder,
  into out: inout MutableSpan<UInt8>
) {
  let count = luma.count
  precondition(u.count == count && v.count == count && out.count == order.bytes &* count)
  let unused = order.bytes == 4 ? 6 &- order.red &- order.green &- order.blue : order.red
  for i in 0..<count {
    let start = i &* order.bytes
    out[start &+ unused] = 255
    out[start &+ order.red] = channel(0, luma[i], u[i], v[i])
    out[start &+ order.green] = channel(1, luma[i], u[i], v[i])
    out[start &+ order.blue] = channel(2, luma[i], u[i], v[i])
  }
}

/// Keeps of each pixel in a row of 4:4:4 the one channel (0 red, 1 green, 2 blue) that a Bayer
/// sensor sees there: `even` in columns 0, 2, ..., `odd` in the others.
package func packBayerRow(
  _ luma: Span<UInt8>, _ u: Span<UInt8>, _ v: Span<UInt8>, even: Int, odd: Int,
  into out: inout MutableSpan<UInt8>
) {
  let count = luma.count
  precondition(u.count == count && v.count == count && out.count == count)
  for i in 0..<count {
    out[i] = channel(i & 1 == 0 ? even : odd, luma[i], u[i], v[i])
  }
}

/// Copies a row.
func copyRow(_ source: Span<UInt8>, into out: inout MutableSpan<UInt8>) {
  precondition(source.count == out.count)
  for i in 0..<source.count { out[i] = source[i] }
}
