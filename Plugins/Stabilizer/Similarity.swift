internal import Glibc

/// A shift, a rotation and a scale of the plane.
///
/// Coordinates are in pixels of the full picture about its middle, x to the right and y down. In
/// pixel coordinates whole numbers are the middles of pixels, as in OpenCV, and the picture's middle
/// is ((width - 1) / 2, (height - 1) / 2).
///
///     x' = a x - b y + shiftX
///     y' = b x + a y + shiftY
struct Similarity: Equatable, BitwiseCopyable, Sendable {
  var a = 1.0
  var b = 0.0
  var shiftX = 0.0
  var shiftY = 0.0

  static let identity = Similarity()

  init() {}

  /// `roll` in radians; positive turns x towards y, clockwise as seen.
  init(shiftX: Double = 0, shiftY: Double = 0, roll: Double = 0, scale: Double = 1) {
    a = scale * cos(roll)
    b = scale * sin(roll)
    self.shiftX = shiftX
    self.shiftY = shiftY
  }

  var isFinite: Bool { a.isFinite && b.isFinite && shiftX.isFinite && shiftY.isFinite }

  var scale: Double { (a * a + b * b).squareRoot() }
  /// In radians.
  var roll: Double { atan2(b, a) }

  var inverse: Similarity {
    let square = a * a + b * b
    var result = Similarity()
    result.a = a / square
    result.b = -b / square
    result.shiftX = -(result.a * shiftX - result.b * shiftY)
    result.shiftY = -(result.b * shiftX + result.a * shiftY)
    return result
  }

  func apply(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
    (a * x - b * y + shiftX, b * x + a * y + shiftY)
  }

  /// First `right`, then `left`.
  static func * (left: Similarity, right: Similarity) -> Similarity {
    var result = Similarity()
    result.a = left.a * right.a - left.b * right.b
    result.b = left.b * right.a + left.a * right.b
    (result.shiftX, result.shiftY) = left.apply(right.shiftX, right.shiftY)
    return result
  }
}
