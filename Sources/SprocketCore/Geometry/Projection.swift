/// A projective map of the plane: a matrix of 3x3 numbers, row by row, for homogeneous coordinates.
///
///     [x' w]   [m0 m1 m2] [x]
///     [y' w] = [m3 m4 m5] [y]
///     [   w]   [m6 m7 m8] [1]
///
/// In pixels. Whole numbers are the middles of pixels, as in OpenCV: (0, 0) is the middle of the top left
/// pixel, and the top left corner of the picture is (-0.5, -0.5).
public struct Projection: Sendable, BitwiseCopyable {
  public var values: MatrixValues

  public init(_ values: MatrixValues) { self.values = values }

  /// x' = scaleX x + shiftX, and y' likewise.
  public init(scaleX: Double = 1, scaleY: Double = 1, shiftX: Double = 0, shiftY: Double = 0) {
    values = [scaleX, 0, shiftX, 0, scaleY, shiftY, 0, 0, 1]
  }

  public static let identity = Projection()

  /// From a reduced picture to the full one: each pixel of the reduced picture covers `across` by `down`
  /// pixels, and both pictures begin at the same top left corner.
  public init(pixelsAcross across: Double, down: Double) {
    self.init(
      scaleX: across, scaleY: down, shiftX: (across - 1) / 2, shiftY: (down - 1) / 2)
  }

  /// First `right`, then `left`.
  public static func * (left: Projection, right: Projection) -> Projection {
    var product = MatrixValues(repeating: 0)
    for row in 0..<3 {
      for column in 0..<3 {
        var sum = 0.0
        for index in 0..<3 {
          sum += left.values[3 * row + index] * right.values[3 * index + column]
        }
        product[3 * row + column] = sum
      }
    }
    return Projection(product)
  }

  /// Not finite where the point has no image.
  public func apply(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
    let w = values[6] * x + values[7] * y + values[8]
    return (
      (values[0] * x + values[1] * y + values[2]) / w,
      (values[3] * x + values[4] * y + values[5]) / w
    )
  }

  /// The map back; `nil` where there is none.
  public var inverse: Projection? {
    let m = values
    let (a, b, c) = (
      m[4] * m[8] - m[5] * m[7], m[5] * m[6] - m[3] * m[8], m[3] * m[7] - m[4] * m[6]
    )
    let determinant = m[0] * a + m[1] * b + m[2] * c
    guard determinant != 0, determinant.isFinite else { return nil }
    var inverse: MatrixValues = [
      a, m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
      b, m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
      c, m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3],
    ]
    for index in 0..<9 { inverse[index] /= determinant }
    return Projection(inverse)
  }
}
