import Glibc
internal import SprocketCore

/// Red, green and blue in 0...1, each the square root of the reflectance (see `SceneTexture`).
typealias SceneColor = SIMD3<Float>

/// The sheet that the scene is painted on: 8 bits of red, green and blue, repeating in x.
///
/// Every shape is painted with its exact or nearly exact coverage of each pixel, so that no edge
/// holds more detail than the pixels can carry.
struct SceneCanvas {
  let width: Int
  let height: Int
  private(set) var pixels: [SIMD4<UInt8>]
  private let interruption: SourceInterrupt

  init(width: Int, height: Int, _ interruption: SourceInterrupt = SourceInterrupt()) {
    precondition(width > 0 && height > 0, "A canvas needs at least one pixel.")
    self.width = width
    self.height = height
    self.interruption = interruption
    pixels = Array(repeating: SIMD4(), count: width * height)
  }

  /// Sets one pixel outright.
  mutating func set(_ x: Int, _ y: Int, _ color: SceneColor) {
    pixels[y * width + x] = Self.quantized(color)
  }

  func color(_ x: Int, _ y: Int) -> SceneColor {
    let pixel = SIMD4<Float>(pixels[y * width + x])
    return SceneColor(pixel.x, pixel.y, pixel.z) * (1 / 255)
  }

  /// Paints what `shade` says (colour and, last, alpha 0...1) over a box of pixels.
  ///
  /// Coordinates are pixels, whole numbers at pixel centres; x may leave the canvas and wraps, y is
  /// clipped.
  @inline(__always)
  mutating func paint(
    x: ClosedRange<Float>, y: ClosedRange<Float>, _ shade: (Float, Float) -> SIMD4<Float>
  ) {
    let x0 = Int(x.lowerBound.rounded(.down)) - 1
    let x1 = Int(x.upperBound.rounded(.up)) + 1
    let y0 = max(0, Int(y.lowerBound.rounded(.down)) - 1)
    let y1 = min(height - 1, Int(y.upperBound.rounded(.up)) + 1)
    guard y0 <= y1 else { return }
    for row in y0...y1 where !interruption.isSet {
      for column in x0...x1 {
        let shaded = shade(Float(column), Float(row))
        if shaded.w > 0 { blend(column, row, shaded) }
      }
    }
  }

  private mutating func blend(_ x: Int, _ y: Int, _ shaded: SIMD4<Float>) {
    var column = x
    // Divides only outside the canvas, which few shapes leave: a division takes some 20 cycles.
    if column < 0 || column >= width {
      column %= width
      if column < 0 { column += width }
    }
    let alpha = min(shaded.w, 1)
    let over = SceneColor(shaded.x, shaded.y, shaded.z)
    let under = color(column, y)
    set(column, y, under + (over - under) * alpha)
  }

  private static func quantized(_ color: SceneColor) -> SIMD4<UInt8> {
    SIMD4(byte(color.x * 255), byte(color.y * 255), byte(color.z * 255), 0)
  }
}

// Shapes.
extension SceneCanvas {
  mutating func rectangle(
    x: ClosedRange<Float>, y: ClosedRange<Float>, _ color: SceneColor, alpha: Float = 1
  ) {
    paint(x: x, y: y) { px, py in
      SIMD4(color, alpha * covered(px, x) * covered(py, y))
    }
  }

  mutating func disc(x: Float, y: Float, radius: Float, _ color: SceneColor, alpha: Float = 1) {
    paint(x: x - radius...x + radius, y: y - radius...y + radius) { px, py in
      let distance = hypotf(px - x, py - y)
      return SIMD4(color, alpha * edge(radius - distance))
    }
  }

  /// A ball lit from the upper left, with a highlight.
  mutating func ball(x: Float, y: Float, radius: Float, _ color: SceneColor) {
    paint(x: x - radius...x + radius, y: y - radius...y + radius) { px, py in
      let u = (px - x) / radius
      let v = (py - y) / radius
      let depth = sqrtf(max(0, 1 - u * u - v * v))
      let light = max(0, -0.45 * u - 0.55 * v + 0.7 * depth)
      let shine = max(0, 1 - hypotf(u + 0.38, v + 0.45) * 5)
      let lit = color * (0.25 + 0.8 * light) + SceneColor(repeating: shine)
      return SIMD4(lit, edge(radius - hypotf(px - x, py - y)))
    }
  }

  /// A straight stroke, `thickness` pixels wide.
  mutating func line(
    from a: SIMD2<Float>, to b: SIMD2<Float>, thickness: Float, _ color: SceneColor
  ) {
    let along = b - a
    let length2 = max((along * along).sum(), 1e-6)
    let reach = thickness / 2 + 1
    let low = pointwiseMin(a, b) - reach
    let high = pointwiseMax(a, b) + reach
    paint(x: low.x...high.x, y: low.y...high.y) { px, py in
      let offset = SIMD2(px, py) - a
      let t = min(max((offset * along).sum() / length2, 0), 1)
      let gap = offset - along * t
      return SIMD4(color, edge(thickness / 2 - sqrtf((gap * gap).sum())))
    }
  }

  /// A convex polygon, its corners clockwise on the screen (y down).
  mutating func polygon(_ corners: [SIMD2<Float>], _ color: SceneColor, alpha: Float = 1) {
    var low = corners[0]
    var high = corners[0]
    for corner in corners {
      low = pointwiseMin(low, corner)
      high = pointwiseMax(high, corner)
    }
    paint(x: low.x...high.x, y: low.y...high.y) { px, py in
      var inside = Float.infinity
      for index in corners.indices {
        let a = corners[index]
        let side = corners[(index + 1) % corners.count] - a
        let cross = side.x * (py - a.y) - side.y * (px - a.x)
        inside = min(inside, cross / max(sqrtf((side * side).sum()), 1e-6))
      }
      return SIMD4(color, alpha * edge(inside))
    }
  }
}

/// How much of the pixel centred at `p` the interval covers, 0...1.
@inline(__always)
func covered(_ p: Float, _ interval: ClosedRange<Float>) -> Float {
  max(0, min(p + 0.5, interval.upperBound) - max(p - 0.5, interval.lowerBound))
}

/// Coverage of a pixel whose centre lies `inside` pixels within an edge.
@inline(__always)
func edge(_ inside: Float) -> Float {
  min(max(inside + 0.5, 0), 1)
}

/// Rounds, halves upwards, to 0...255. Comparisons and a sum, since `min`, `max` and a checked conversion
/// keep a loop from being vectorised.
@inline(__always)
func byte(_ value: Float) -> UInt8 {
  let clamped = value < 0 ? 0 : value > 255 ? 255 : value
  let raised = clamped + 0.5
  // A sum with 2^23 has the nearest whole number in its last bits.
  let nearest = raised + 0x1p23
  let isAbove = nearest - 0x1p23 > raised
  return UInt8(truncatingIfNeeded: nearest.bitPattern &- (isAbove ? 1 : 0))
}
