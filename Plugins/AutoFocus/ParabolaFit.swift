/// The parabola that lies closest to some points, by least squares.
struct ParabolaFit: Sendable {
  /// Sums of x^n and of x^n y.
  private var count = 0.0
  private var x1 = 0.0
  private var x2 = 0.0
  private var x3 = 0.0
  private var x4 = 0.0
  private var y0 = 0.0
  private var y1 = 0.0
  private var y2 = 0.0

  mutating func add(_ x: Double, _ y: Double) {
    count += 1
    x1 += x
    x2 += x * x
    x3 += x * x * x
    x4 += x * x * x * x
    y0 += y
    y1 += x * y
    y2 += x * x * y
  }

  /// Where it has its maximum; `nil` if it has none, or fewer than three points lay apart.
  var vertex: Double? {
    // y = a + b x + c x^2; b and c from the normal equations, centered on the means.
    let (xx, xz) = (x2 - x1 * x1 / count, x3 - x1 * x2 / count)
    let zz = x4 - x2 * x2 / count
    let (xy, zy) = (y1 - x1 * y0 / count, y2 - x2 * y0 / count)
    let determinant = xx * zz - xz * xz
    guard count >= 3, determinant > 1e-9 * xx * zz else { return nil }
    let curvature = (zy * xx - xy * xz) / determinant
    let slope = (xy * zz - zy * xz) / determinant
    return curvature < 0 ? -slope / (2 * curvature) : nil
  }
}
