/// Sixteen pixels of one row.
typealias Pixels = SIMD16<Float>

/// A square of the earlier frame, 16 pixels a side, prepared for tracking: its luma, its derivatives without
/// the part that a change of gain or offset explains, and the inverse matrix of their products.
///
/// The inverse compositional algorithm of S. Baker, I. Matthews, "Lucas-Kanade 20 years on",
/// IJCV 56, 2004, for shifts, with linear changes of appearance projected out (part 3 of the same):
/// derivatives that are orthogonal to 1 and to the luma itself do not see exposure.
struct Patch {
  /// Pixels of a side, as many as `Pixels` has lanes. Larger: less noise, less detail of the motion.
  static let side = 16

  /// Luma less its mean.
  private var luma = [Pixels](repeating: .zero, count: side)
  private var alongX = [Pixels](repeating: .zero, count: side)
  private var alongY = [Pixels](repeating: .zero, count: side)
  /// The matrix of products, and its inverse.
  private var inverse: (xx: Float, xy: Float, yy: Float) = (0, 0, 0)
  /// The lesser eigenvalue.
  private(set) var strength: Float = 0
  /// Sum of the squares of `luma`.
  private var energy: Float = 0

  /// What a comparison at one place gives.
  struct Step {
    var x: Float
    var y: Float
    /// Sum of squares of what neither gain nor offset explains.
    var error: Float
    /// The normalised correlation, -1...1.
    var correlation: Float
  }

  /// Takes the square whose upper left pixel is (x, y); it has a pixel around it in the picture.
  mutating func take(_ level: LumaPyramid.Level, x: Int, y: Int) {
    let bytes = level.bytes.span
    let width = level.width
    var start = (y - 1) * width + x - 1
    var above = pixels(bytes, start + 1)
    start += width
    var here = pixels(bytes, start + 1)
    var sum = Pixels.zero
    var (sumX, sumY) = (Pixels.zero, Pixels.zero)
    for row in 0..<Self.side {
      let below = pixels(bytes, start + width + 1)
      let dx = (pixels(bytes, start + 2) - pixels(bytes, start)) * 0.5
      let dy = (below - above) * 0.5
      luma[row] = here
      alongX[row] = dx
      alongY[row] = dy
      sum += here
      sumX += dx
      sumY += dy
      above = here
      here = below
      start += width
    }
    center(mean: sum.sum() / 256, meanX: sumX.sum() / 256, meanY: sumY.sum() / 256)
    project()
  }

  private mutating func center(mean: Float, meanX: Float, meanY: Float) {
    for row in 0..<Self.side {
      luma[row] -= mean
      alongX[row] -= meanX
      alongY[row] -= meanY
    }
  }

  /// Takes from the derivatives what looks like the luma, and sums their products.
  private mutating func project() {
    var (square, withX, withY) = (Pixels.zero, Pixels.zero, Pixels.zero)
    for row in 0..<Self.side {
      square += luma[row] * luma[row]
      withX += luma[row] * alongX[row]
      withY += luma[row] * alongY[row]
    }
    energy = square.sum()
    let scale = 1 / max(energy, 1)
    let (shareX, shareY) = (withX.sum() * scale, withY.sum() * scale)
    var (xx, xy, yy) = (Pixels.zero, Pixels.zero, Pixels.zero)
    for row in 0..<Self.side {
      alongX[row] -= shareX * luma[row]
      alongY[row] -= shareY * luma[row]
      xx += alongX[row] * alongX[row]
      xy += alongX[row] * alongY[row]
      yy += alongY[row] * alongY[row]
    }
    invert(xx: xx.sum(), xy: xy.sum(), yy: yy.sum())
  }

  private mutating func invert(xx: Float, xy: Float, yy: Float) {
    let (mean, half) = ((xx + yy) / 2, (xx - yy) / 2)
    strength = mean - (half * half + xy * xy).squareRoot()
    let determinant = xx * yy - xy * xy
    guard strength > 0, determinant > 0 else {
      strength = 0
      inverse = (0, 0, 0)
      return
    }
    inverse = (yy / determinant, -xy / determinant, xx / determinant)
  }

  /// Compares with the square of `level` whose upper left corner is at (x, y), which lies in the
  /// picture, and says how much further it is.
  func compare(_ level: LumaPyramid.Level, x: Float, y: Float) -> Step {
    let (column, row) = (x.rounded(.down), y.rounded(.down))
    let (partX, partY) = (x - column, y - row)
    let bytes = level.bytes.span
    let width = level.width
    var start = Int(row) * width + Int(column)
    var upper = blend(bytes, start, partX)
    var (sum, square, withLuma) = (Pixels.zero, Pixels.zero, Pixels.zero)
    var (withX, withY) = (Pixels.zero, Pixels.zero)
    for row in 0..<Self.side {
      start += width
      let lower = blend(bytes, start, partX)
      let value = upper + (lower - upper) * partY
      sum += value
      square += value * value
      withLuma += value * luma[row]
      withX += value * alongX[row]
      withY += value * alongY[row]
      upper = lower
    }
    let (total, projected) = (sum.sum(), withLuma.sum())
    let variance = max(square.sum() - total * total / 256, 1e-3)
    let gain = projected / max(energy, 1)
    // Derivatives are of the earlier frame's gain.
    let scale = 1 / max(gain, 0.25)
    let (x, y) = (withX.sum() * scale, withY.sum() * scale)
    return Step(
      x: -(inverse.xx * x + inverse.xy * y), y: -(inverse.xy * x + inverse.yy * y),
      error: max(variance - gain * projected, 0),
      correlation: projected / (max(energy, 1) * variance).squareRoot())
  }
}

/// Sixteen pixels from `start` on.
@inline(__always)
private func pixels(_ bytes: Span<UInt8>, _ start: Int) -> Pixels {
  let part = bytes.extracting(start..<start &+ 16)
  var row = SIMD16<UInt8>()
  for lane in 0..<16 { row[lane] = part[lane] }
  return Pixels(row)
}

/// Sixteen pixels from `start` on, moved by a part of a pixel to the next.
@inline(__always)
private func blend(_ bytes: Span<UInt8>, _ start: Int, _ part: Float) -> Pixels {
  let left = pixels(bytes, start)
  return left + (pixels(bytes, start &+ 1) - left) * part
}
