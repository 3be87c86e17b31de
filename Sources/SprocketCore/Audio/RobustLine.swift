/// A straight line through points, of which some may be far off.
///
/// Least squares with a prior on the slope: the sum of `w (y - value - slope (x - x0))²` plus
/// `(deviation of a point / deviation of the prior)² (slope - prior)²` is smallest. `x0` is the newest
/// point's, and the weights are Huber's: 1 up to 1.345 standard deviations, then falling with the distance
/// (P. J. Huber, "Robust Estimation of a Location Parameter", 1964). One pass with equal weights, then two
/// with Huber's.
struct RobustLine {
  private var x: [Double]
  private var y: [Double]
  private var deviations: [Double]
  private var weights: [Double]
  private var scratch: [Double]
  private var count = 0
  /// Where the next point goes: the oldest is replaced.
  private var next = 0

  init(capacity: Int) {
    // Each has memory of its own: a copy would get it when it is first written.
    x = Array(repeating: 0, count: capacity)
    y = Array(repeating: 0, count: capacity)
    deviations = Array(repeating: 0, count: capacity)
    weights = Array(repeating: 0, count: capacity)
    scratch = Array(repeating: 0, count: capacity)
  }

  mutating func removeAll() { (count, next) = (0, 0) }

  /// `deviation`: the point's own standard deviation, as far as it is known.
  mutating func add(x newX: Double, y newY: Double, deviation: Double) {
    (x[next], y[next], deviations[next]) = (newX, newY, deviation)
    next = (next + 1) % x.count
    count = min(count + 1, x.count)
  }

  /// The line's value at the newest point, and its slope. There is at least one point.
  mutating func solve(slope prior: Double, deviation: Double) -> (value: Double, slope: Double) {
    let newest = x[(next + x.count - 1) % x.count]
    for index in 0..<count {
      scratch[index] = deviations[index]
      weights[index] = 1
    }
    let ownSpread = max(Self.leastSpread, scratch.median(of: count))
    var spread = ownSpread
    var line = (value: 0.0, slope: prior)
    for pass in 0..<3 {
      let ratio = spread / deviation
      line = pass == 0 || count > 1 ? weighted(newest, prior, ratio * ratio) : line
      for index in 0..<count {
        scratch[index] = abs(y[index] - line.value - line.slope * (x[index] - newest))
      }
      for index in 0..<count { weights[index] = scratch[index] }
      spread = max(ownSpread, normalFromMedian * scratch.median(of: count))
      for index in 0..<count {
        weights[index] = min(1, Self.huber * spread / max(weights[index], 1e-15))
      }
    }
    return line
  }

  private func weighted(_ newest: Double, _ prior: Double, _ strength: Double) -> (Double, Double) {
    var (total, meanX, meanY) = (0.0, 0.0, 0.0)
    for index in 0..<count {
      total += weights[index]
      meanX += weights[index] * (x[index] - newest)
      meanY += weights[index] * y[index]
    }
    (meanX, meanY) = (meanX / total, meanY / total)
    var (product, square) = (strength * prior, strength)
    for index in 0..<count {
      let distance = x[index] - newest - meanX
      product += weights[index] * distance * (y[index] - meanY)
      square += weights[index] * distance * distance
    }
    let slope = product / square
    return (meanY - slope * meanX, slope)
  }

  /// Smallest standard deviation of a point, seconds: devices count whole microseconds and worse. Larger: the
  /// prior on the slope counts for more where a device's times are exact.
  private static let leastSpread = 20e-6
  /// Standard deviations from which on a point counts less. Larger: outliers pull more. Huber's constant for
  /// an efficiency of 95 % where the noise is normal.
  private static let huber = 1.345
}

/// Standard deviation of normal numbers, from the median of their magnitudes.
let normalFromMedian = 1.4826

extension [Double] {
  /// The median of the first `count` numbers, which are sorted for that; at least one.
  mutating func median(of count: Int) -> Double {
    // Shell's sort with Knuth's gaps: the standard library's allocates.
    var gap = 1
    while gap < count / 3 { gap = 3 * gap + 1 }
    while gap > 0 {
      for index in Swift.min(gap, count)..<count {
        let value = self[index]
        var place = index
        while place >= gap, self[place - gap] > value {
          self[place] = self[place - gap]
          place -= gap
        }
        self[place] = value
      }
      gap /= 3
    }
    return (self[(count - 1) / 2] + self[count / 2]) / 2
  }

  /// The median of the first `count` numbers' distances from `middle`; they are replaced by these.
  mutating func medianMagnitude(of count: Int, around middle: Double) -> Double {
    for index in 0..<count { self[index] = abs(self[index] - middle) }
    return median(of: count)
  }
}
