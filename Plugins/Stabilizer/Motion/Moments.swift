/// Weighted sums for a least-squares similarity, and its solution in closed form.
struct Moments {
  private var weight = 0.0
  private var (x, y, toX, toY) = (0.0, 0.0, 0.0, 0.0)
  private var (square, along, across) = (0.0, 0.0, 0.0)

  mutating func add(_ x: Float, _ y: Float, _ toX: Float, _ toY: Float, weight: Float) {
    let (x, y, weight) = (Double(x), Double(y), Double(weight))
    let (toX, toY) = (Double(toX), Double(toY))
    self.weight += weight
    self.x += weight * x
    self.y += weight * y
    self.toX += weight * toX
    self.toY += weight * toY
    square += weight * (x * x + y * y)
    along += weight * (x * toX + y * toY)
    across += weight * (x * toY - y * toX)
  }

  /// Mean weight of that many points.
  func meanWeight(of count: Int) -> Float { Float(weight) / Float(max(count, 1)) }

  /// By how much the variance of the shift at (0, 0) is more than a point's of weight 1.
  var leverage: Float {
    guard weight > 0 else { return .infinity }
    let (x, y) = (x / weight, y / weight)
    let spread = max(square / weight - x * x - y * y, 1)
    return Float((1 + (x * x + y * y) / spread) / weight)
  }

  /// `nil` where the points are too few or too close.
  var solution: PlainMotion? {
    guard weight > 0 else { return nil }
    let (x, y, toX, toY) = (x / weight, y / weight, toX / weight, toY / weight)
    let spread = square / weight - x * x - y * y
    guard spread > 1 else { return nil }
    let a = (along / weight - x * toX - y * toY) / spread
    let b = (across / weight - x * toY + y * toX) / spread
    return PlainMotion(
      a: Float(a), b: Float(b), x: Float(toX - a * x + b * y), y: Float(toY - b * x - a * y))
  }
}

/// Numbers that look random and are the same in every run: SplitMix64 (G. Steele et al., OOPSLA
/// 2014).
struct Draws {
  private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  /// Two different numbers below `count`, which is at least 2.
  mutating func pair(below count: Int) -> (Int, Int) {
    let word = next()
    let first = Int((word >> 32) % UInt64(count))
    let step = 1 + Int((word & 0xFFFF_FFFF) % UInt64(count - 1))
    return (first, (first + step) % count)
  }
}
