// Loops over a row. All numbers are of the picture's scale: 0 to its white.

/// `out` = a + b.
func addRows(_ a: Span<Float>, _ b: Span<Float>, into out: inout MutableSpan<Float>) {
  let count = out.count
  precondition(a.count == count && b.count == count)
  for i in 0..<count { out[i] = a[i] + b[i] }
}

// Bilinear.

/// Green: the mean of two neighbours in the row and of two in the column, whose sum is `near`.
func meanOfFour(_ beside: Span<Float>, _ near: Span<Float>, into out: inout MutableSpan<Float>) {
  let count = out.count
  precondition(beside.count == count &+ 1 && near.count == count &+ 2)
  for i in 0..<count { out[i] = (beside[i] + beside[i &+ 1] + near[i &+ 1]) * 0.25 }
}

/// The sum of the left and the right neighbour, times `share`.
func meanOfPairs(_ beside: Span<Float>, _ share: Float, into out: inout MutableSpan<Float>) {
  let count = out.count
  precondition(beside.count == count &+ 1)
  for i in 0..<count { out[i] = (beside[i] + beside[i &+ 1]) * share }
}

/// Half of the sum of two neighbours in the column.
func halve(_ near: Span<Float>, into out: inout MutableSpan<Float>) {
  let count = out.count
  precondition(near.count == count &+ 2)
  for i in 0..<count { out[i] = near[i &+ 1] * 0.5 }
}

// Malvar, He, Cutler: "High-quality linear interpolation for demosaicing of Bayer-patterned color images",
// ICASSP 2004, figure 2. Of each pixel's own colour, `far` has the sum of the samples two rows up and down.

/// Green of pixels that have another colour: `beside` and `near` are green.
func findGreen(
  _ own: Span<Float>, _ far: Span<Float>, _ beside: Span<Float>, _ near: Span<Float>, white: Float,
  into out: inout MutableSpan<Float>
) {
  let count = out.count
  precondition(own.count == count &+ 2 && far.count == count &+ 2)
  precondition(beside.count == count &+ 1 && near.count == count &+ 2)
  for i in 0..<count {
    let green = beside[i] + beside[i &+ 1] + near[i &+ 1]
    let around = own[i] + own[i &+ 2] + far[i &+ 1]
    out[i] = limited((4 * own[i &+ 1] + 2 * green - around) * 0.125, white)
  }
}

/// Red of blue pixels, and blue of red ones: `diagonal` is the sum of the rows above and below.
func findOther(
  _ own: Span<Float>, _ far: Span<Float>, _ diagonal: Span<Float>, white: Float,
  into out: inout MutableSpan<Float>
) {
  let count = out.count
  precondition(own.count == count &+ 2 && far.count == count &+ 2)
  precondition(diagonal.count == count &+ 1)
  for i in 0..<count {
    let other = diagonal[i] + diagonal[i &+ 1]
    let around = own[i] + own[i &+ 2] + far[i &+ 1]
    out[i] = limited((6 * own[i &+ 1] + 2 * other - 1.5 * around) * 0.125, white)
  }
}

/// The row's colour of pixels that have green: `beside` is of that colour, `diagonal` is green.
func findRowColor(
  _ own: Span<Float>, _ far: Span<Float>, _ beside: Span<Float>, _ diagonal: Span<Float>,
  white: Float, into out: inout MutableSpan<Float>
) {
  let count = out.count
  precondition(own.count == count &+ 2 && far.count == count &+ 2)
  precondition(beside.count == count &+ 1 && diagonal.count == count &+ 1)
  for i in 0..<count {
    let color = beside[i] + beside[i &+ 1]
    let around = own[i] + own[i &+ 2] + diagonal[i] + diagonal[i &+ 1]
    let sum = 5 * own[i &+ 1] + 4 * color - around + 0.5 * far[i &+ 1]
    out[i] = limited(sum * 0.125, white)
  }
}

/// The colour of the rows above and below, of pixels that have green: `near` is of that colour.
func findOtherColor(
  _ own: Span<Float>, _ far: Span<Float>, _ near: Span<Float>, _ diagonal: Span<Float>,
  white: Float, into out: inout MutableSpan<Float>
) {
  let count = out.count
  precondition(own.count == count &+ 2 && far.count == count &+ 2)
  precondition(near.count == count &+ 2 && diagonal.count == count &+ 1)
  for i in 0..<count {
    let around = far[i &+ 1] + diagonal[i] + diagonal[i &+ 1]
    let sum = 5 * own[i &+ 1] + 4 * near[i &+ 1] - around + 0.5 * (own[i] + own[i &+ 2])
    out[i] = limited(sum * 0.125, white)
  }
}

@inline(__always)
func limited(_ value: Float, _ white: Float) -> Float {
  value < 0 ? 0 : value > white ? white : value
}

// Red, green and blue to a plane of YUV.

/// By what the row's colour, green and the other colour are multiplied for one plane, and what is added.
struct ColorWeights {
  let row, green, other, offset, white: Float

  /// ITU-T T.871 (JFIF), full range: `plane` is 0 for Y, 1 for Cb and 2 for Cr. The row's colour is red, or
  /// it is blue.
  init(plane: Int, isRedFirst: Bool, white: Float) {
    let (red, blue): (Float, Float)
    switch plane {
    case 0: (red, green, blue) = (0.299, 0.587, 0.114)
    case 1: (red, green, blue) = (-0.299 / 1.772, -0.587 / 1.772, 0.5)
    default: (red, green, blue) = (0.5, -0.587 / 1.402, -0.114 / 1.402)
    }
    (row, other) = isRedFirst ? (red, blue) : (blue, red)
    offset = plane == 0 ? 0 : ((white + 1) / 2).rounded(.down)
    self.white = white
  }

  @inline(__always)
  func sample(_ color: Float, _ greens: Float, _ others: Float) -> UInt32 {
    let value = limited(row * color + green * greens + other * others + offset, white)
    // Adding 2^23 leaves the rounded number in the lowest bits: a conversion without a check.
    return (value + 0x1p23).bitPattern
  }
}

/// Even and odd pixels, each of the row's colour, green and the other colour, into bytes: two at a time, as
/// little-endian words.
func storePairs(
  _ colors: Span<Float>, _ greens: Span<Float>, _ others: Span<Float>, _ oddColors: Span<Float>,
  _ oddGreens: Span<Float>, _ oddOthers: Span<Float>, _ weights: ColorWeights,
  into pairs: inout MutableSpan<UInt16>
) {
  let count = pairs.count
  precondition(colors.count >= count && greens.count >= count && others.count >= count)
  precondition(oddColors.count >= count && oddGreens.count >= count && oddOthers.count >= count)
  for i in 0..<count {
    let even = weights.sample(colors[i], greens[i], others[i])
    let odd = weights.sample(oddColors[i], oddGreens[i], oddOthers[i])
    pairs[i] = UInt16(truncatingIfNeeded: even & 255 | odd &<< 8)
  }
}

/// The same into words of a sample each.
func storeRow(
  _ colors: Span<Float>, _ greens: Span<Float>, _ others: Span<Float>, _ oddColors: Span<Float>,
  _ oddGreens: Span<Float>, _ oddOthers: Span<Float>, _ weights: ColorWeights,
  into row: inout MutableSpan<UInt16>
) {
  let (width, count) = (row.count, colors.count)
  precondition((width &+ 1) / 2 == count && greens.count == count && others.count == count)
  precondition(
    oddColors.count == count && oddGreens.count == count && oddOthers.count == count)
  for i in 0..<width / 2 {
    row[2 &* i] = UInt16(truncatingIfNeeded: weights.sample(colors[i], greens[i], others[i]))
    row[2 &* i &+ 1] = UInt16(
      truncatingIfNeeded: weights.sample(oddColors[i], oddGreens[i], oddOthers[i]))
  }
  guard width % 2 == 1 else { return }
  let last = count &- 1
  row[width &- 1] = UInt16(
    truncatingIfNeeded: weights.sample(colors[last], greens[last], others[last]))
}
