/// Points of the earlier frame and where they were found in this one, in columns of eight.
///
/// Coordinates are pixels about the picture's middle. Numbers of points are padded to eights with
/// points of no weight.
struct TrackedPoints {
  typealias Eight = SIMD8<Float>

  private(set) var count = 0
  private(set) var x: [Eight]
  private(set) var y: [Eight]
  private(set) var toX: [Eight]
  private(set) var toY: [Eight]
  /// Weight in least squares: 1 over the variance of its place, over the largest of these.
  private(set) var weight: [Eight]
  /// Weight in RANSAC: a point near the edges has more, since things that move on their own are in the
  /// middle more often, and the background is around them.
  private(set) var say: [Eight]
  /// Half the picture's sides.
  private let halfWidth: Float
  private let halfHeight: Float

  init(capacity: Int, width: Int, height: Int) {
    halfWidth = Float(width) / 2
    halfHeight = Float(height) / 2
    x = [Eight](repeating: .zero, count: (capacity + 7) / 8)
    y = x
    toX = x
    toY = x
    weight = x
    say = x
  }

  /// The picture's sides.
  var width: Float { 2 * halfWidth }
  var height: Float { 2 * halfHeight }

  /// Columns in use.
  var eights: Int { (count + 7) / 8 }

  mutating func removeAll() { count = 0 }

  mutating func append(x: Float, y: Float, toX: Float, toY: Float, weight: Float) {
    let (column, lane) = (count / 8, count % 8)
    if lane == 0 {
      self.weight[column] = .zero
      say[column] = .zero
    }
    let edge = max(abs(x) / halfWidth, abs(y) / halfHeight)
    self.x[column][lane] = x
    self.y[column][lane] = y
    self.toX[column][lane] = toX
    self.toY[column][lane] = toY
    self.weight[column][lane] = weight
    say[column][lane] = weight * (0.5 + edge * edge)
    count += 1
  }

  var totalSay: Float {
    var sum = Eight.zero
    for column in 0..<eights { sum += say[column] }
    return sum.sum()
  }

  func point(_ index: Int) -> (x: Float, y: Float, toX: Float, toY: Float, weight: Float) {
    let (column, lane) = (index / 8, index % 8)
    return (
      x[column][lane], y[column][lane], toX[column][lane], toY[column][lane],
      weight[column][lane]
    )
  }

  /// Squares of the distances between where `motion` carries eight points and where they are.
  func squaredResiduals(_ column: Int, _ motion: PlainMotion) -> Eight {
    let dx = motion.a * x[column] - motion.b * y[column] + motion.x - toX[column]
    let dy = motion.b * x[column] + motion.a * y[column] + motion.y - toY[column]
    return dx * dx + dy * dy
  }
}

/// A similarity about the middle, in 32 bits: to = (a x - b y, b x + a y) + shift.
struct PlainMotion: Equatable {
  var a: Float = 1
  var b: Float = 0
  var x: Float = 0
  var y: Float = 0

  func apply(_ x: Float, _ y: Float) -> (x: Float, y: Float) {
    (a * x - b * y + self.x, b * x + a * y + self.y)
  }
}
