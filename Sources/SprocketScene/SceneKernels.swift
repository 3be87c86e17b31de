// The scene's pixel loops. Each works on one row with arguments of primitive types.
//
// Sampling is by cubic B-splines without pre-filter: its transfer hardly depends on the sub-pixel
// phase (at a quarter of the sampling rate gain is 0.648 to 0.667 and the error of position below
// 0.008 px, where a bilinear or a Catmull-Rom filter errs by 0.045 px), so shifts measured in the
// picture are the shifts that were drawn. The blur it adds, 0.58 px RMS, is a good lens.
// Source: Unser, "Splines: a perfect fit for signal and image processing", IEEE SPM 1999.
//
// A row of the frame is a slanted line in the texture. First each texture column that it crosses is
// interpolated in y where the line crosses it (`crossRows`), then the line is interpolated in x
// (`alongRow`): 8 taps instead of 16, all of them neighbours in memory.

/// Weights of four samples for a place between the second, 0, and the third, 1.
@inline(__always)
private func splineWeights(_ place: Float) -> (Float, Float, Float, Float) {
  let t = place < 0 ? 0 : place > 1 ? 1 : place
  let s = 1 - t
  let w0 = s * s * s * (1 / 6)
  let w3 = t * t * t * (1 / 6)
  let w1 = (2 / 3) - t * t + 3 * w3
  return (w0, w1, 1 - w0 - w1 - w3, w3)
}

/// Interpolates in y: `out[i] = B(a[i], b[i], c[i], d[i]; t)` where t, the place between `b` and
/// `c`, runs from `phase` by `step` per column.
package func crossRows(
  _ a: Span<UInt8>, _ b: Span<UInt8>, _ c: Span<UInt8>, _ d: Span<UInt8>,
  into out: inout MutableSpan<Float>, phase: Float, step: Float
) {
  let count = out.count
  precondition(a.count == count && b.count == count && c.count == count && d.count == count)
  for i in 0..<count {
    let (w0, w1, w2, w3) = splineWeights(phase + step * Float(Int32(truncatingIfNeeded: i)))
    let upper = w0 * Float(a[i]) + w1 * Float(b[i])
    let lower = w2 * Float(c[i]) + w3 * Float(d[i])
    out[i] = upper + lower
  }
}

/// As `crossRows`, of two textures at once: `1 - share` of the first four rows, `share` of the
/// other four.
package func crossMixedRows(
  _ a: Span<UInt8>, _ b: Span<UInt8>, _ c: Span<UInt8>, _ d: Span<UInt8>,
  _ e: Span<UInt8>, _ f: Span<UInt8>, _ g: Span<UInt8>, _ h: Span<UInt8>,
  into out: inout MutableSpan<Float>, share: Float, phase: Float, step: Float
) {
  let count = out.count
  precondition(a.count == count && b.count == count && c.count == count && d.count == count)
  precondition(e.count == count && f.count == count && g.count == count && h.count == count)
  for i in 0..<count {
    let (w0, w1, w2, w3) = splineWeights(phase + step * Float(Int32(truncatingIfNeeded: i)))
    let row0 = Float(a[i]) + share * (Float(e[i]) - Float(a[i]))
    let row1 = Float(b[i]) + share * (Float(f[i]) - Float(b[i]))
    let row2 = Float(c[i]) + share * (Float(g[i]) - Float(c[i]))
    let row3 = Float(d[i]) + share * (Float(h[i]) - Float(d[i]))
    out[i] = (w0 * row0 + w1 * row1) + (w2 * row2 + w3 * row3)
  }
}

/// Interpolates in x between `line[i + 1]` and `line[i + 2]`; t runs from `phase` by `step`.
///
/// `line` has three values more than `out`. Writes eighths of a level, 0...2040.
package func alongRow(
  _ line: Span<Float>, into out: inout MutableSpan<UInt16>, phase: Float, step: Float
) {
  let count = out.count
  precondition(line.count == count &+ 3)
  for i in 0..<count {
    let (w0, w1, w2, w3) = splineWeights(phase + step * Float(Int32(truncatingIfNeeded: i)))
    let left = w0 * line[i] + w1 * line[i &+ 1]
    let right = w2 * line[i &+ 2] + w3 * line[i &+ 3]
    // Adding 2^23 leaves the rounded number in the lowest bits: a conversion without a check.
    let rounded = (left + right) * 8 + 0x1p23
    out[i] = UInt16(truncatingIfNeeded: rounded.bitPattern)
  }
}

/// Turns texture values into 8-bit luma: base and noise from `table`, unit noise from `noise`.
///
/// `table` has 2048 entries: the level in 1/64 in the lower half, the deviation of the noise in
/// 1/64 of a level in the upper. `noise` is in 1/32 deviations. Bound: 65535 * 127 < 2^31.
package func exposeRow(
  _ values: Span<UInt16>, table: Span<UInt32>, noise: Span<Int8>,
  into out: inout MutableSpan<UInt8>
) {
  let count = out.count
  precondition(values.count == count && noise.count == count && table.count == 2048)
  for i in 0..<count {
    let entry = table[Int(values[i] & 2047)]
    let spread = Int32(truncatingIfNeeded: entry >> 16) &* Int32(noise[i])
    let level = Int32(truncatingIfNeeded: entry & 0xFFFF) &+ ((spread &+ 16) >> 5)
    let rounded = (level &+ 32) >> 6
    out[i] = UInt8(truncatingIfNeeded: rounded < 0 ? 0 : rounded > 255 ? 255 : rounded)
  }
}

/// As `exposeRow`, into words of `bits` significant bits, 10...16, little-endian.
package func exposeDeepRow(
  _ values: Span<UInt16>, table: Span<UInt32>, noise: Span<Int8>, bits: Int32,
  into out: inout MutableSpan<UInt8>
) {
  let count = values.count
  precondition(out.count == 2 &* count && noise.count == count && table.count == 2048)
  let top: Int32 = 255 << 6
  for i in 0..<count {
    let entry = table[Int(values[i] & 2047)]
    let spread = Int32(truncatingIfNeeded: entry >> 16) &* Int32(noise[i])
    let level = Int32(truncatingIfNeeded: entry & 0xFFFF) &+ ((spread &+ 16) >> 5)
    let clipped = level < 0 ? 0 : level > top ? top : level
    // 255 * 64 becomes all ones: 16 bits are level * 65535 / 16320, rounded.
    let word = (UInt32(truncatingIfNeeded: clipped) &* 65535 &+ 8160) / 16320
    let shifted = word >> UInt32(truncatingIfNeeded: 16 &- bits)
    out[2 &* i] = UInt8(truncatingIfNeeded: shifted)
    out[2 &* i &+ 1] = UInt8(truncatingIfNeeded: shifted >> 8)
  }
}

/// Turns texture chroma into 8-bit chroma: faded by `fading` (1/256, by the luma that was drawn
/// there) and with noise of `deviation` (1/64 of a level).
package func exposeChromaRow(
  _ values: Span<UInt16>, luma: Span<UInt8>, fading: Span<Int32>, noise: Span<Int8>,
  deviation: Int32, into out: inout MutableSpan<UInt8>
) {
  let count = out.count
  precondition(values.count == count && noise.count == count && fading.count == 256)
  precondition(luma.count == count)
  for i in 0..<count {
    let fade = fading[Int(luma[i])]
    // Eighths times 1/256, to 1/64: |offset| <= 1024 * 1024.
    let offset = ((Int32(values[i]) &- 1024) &* fade) >> 5
    let level = 128 * 64 &+ offset &+ ((deviation &* Int32(noise[i]) &+ 16) >> 5)
    let rounded = (level &+ 32) >> 6
    out[i] = UInt8(truncatingIfNeeded: rounded < 0 ? 0 : rounded > 255 ? 255 : rounded)
  }
}

/// Doubles a row of chroma in width, each sample three parts the nearer and one part the further
/// neighbour: where 4:2:2 samples, sited in the middle of two, become 4:4:4.
package func doubleRow(_ half: Span<UInt16>, into out: inout MutableSpan<UInt16>) {
  let count = out.count
  precondition(half.count == (count &+ 1) / 2)
  for i in 0..<count {
    let near = i / 2
    let far = i % 2 == 0 ? near &- 1 : near &+ 1
    let other = half[far < 0 ? 0 : far >= half.count ? half.count &- 1 : far]
    out[i] = (3 &* half[near] &+ other &+ 2) >> 2
  }
}
