/// Finds the shift between two small pictures by trying all of them.
///
/// Compares each pixel's deviation from its local mean, divided by the picture's mean deviation and clamped.
/// So a change of exposure has little effect, and the clamp limits the effect of an object that moves
/// independently of the camera.
struct CoarseSearch {
  let width: Int
  let height: Int
  /// The longest shifts that are tried, in pixels: three tenths of the sides.
  let reachX: Int
  let reachY: Int
  private var earlier: [Int16]
  private var current: [Int16]
  private var sums: [Int32]
  private var deviations: [Int16]
  /// Mean difference by shift, row by row.
  private var costs: [Float]

  struct Match {
    /// In pixels of the small picture: a point at p in the earlier frame is at p + (x, y) now.
    var x: Float
    var y: Float
    /// The best shift far from that one, if it is nearly as good: where something near covers much of the
    /// picture, the other of the two is the background's.
    var other: (x: Float, y: Float)?
    /// Mean difference at the first shift, over the mean of all shifts: near 0 the pictures match, near 1
    /// no shift is better than another.
    var dissimilarity: Float
    /// Mean deviation of luma from the mean around, in levels, of the two frames' lesser.
    var contrast: Float
  }

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
    reachX = min(max(1, width * 3 / 10), width - 1)
    reachY = min(max(1, height * 3 / 10), height - 1)
    earlier = [Int16](repeating: 0, count: width * height)
    current = earlier
    sums = [Int32](repeating: 0, count: width)
    deviations = earlier
    costs = [Float](repeating: 0, count: (2 * reachX + 1) * (2 * reachY + 1))
  }

  mutating func match(_ first: LumaPyramid.Level, _ second: LumaPyramid.Level) -> Match {
    let contrast = min(
      flatten(first.bytes.span, width, height, &sums, &deviations, into: &earlier),
      flatten(second.bytes.span, width, height, &sums, &deviations, into: &current))
    let columns = 2 * reachX + 1
    var best = 0
    var sum: Float = 0
    for index in costs.indices {
      let cost = cost(x: index % columns - reachX, y: index / columns - reachY)
      costs[index] = cost
      sum += cost
      if cost < costs[best] { best = index }
    }
    let mean = max(sum / Float(costs.count), 1e-6)
    let (column, row) = (best % columns, best / columns)
    let far = leastFar(from: column, row, columns)
    let isGood = mean - costs[far] > Self.otherShare * (mean - costs[best])
    let other = (Float(far % columns - reachX), Float(far / columns - reachY))
    return Match(
      x: Float(column - reachX) + vertex(best, 1, isInside: column > 0 && column < columns - 1),
      y: Float(row - reachY) + vertex(best, columns, isInside: row > 0 && row < 2 * reachY),
      other: isGood ? other : nil, dissimilarity: costs[best] / mean,
      contrast: contrast)
  }

  /// Least distance, in pixels, of the other shift from the best. Larger: what moves nearly as the background
  /// is not told from it.
  private static let leastApart = 2

  /// Share of the best shift's fall of cost below the mean from which another one is tried. Larger: less is
  /// tried, and costs less; the background behind something near is lost more often. By trial.
  private static let otherShare: Float = 0.6

  /// Index of the least cost farther from a shift than `leastApart`.
  private func leastFar(from column: Int, _ row: Int, _ columns: Int) -> Int {
    var best = 0
    var least = Float.infinity
    for index in costs.indices where costs[index] < least {
      let apart = max(abs(index % columns - column), abs(index / columns - row))
      if apart > Self.leastApart { (best, least) = (index, costs[index]) }
    }
    return best
  }

  /// Where between shifts the cost is least: two lines of equal slope through three costs.
  private func vertex(_ index: Int, _ step: Int, isInside: Bool) -> Float {
    guard isInside else { return 0 }
    let (before, here, after) = (costs[index - step], costs[index], costs[index + step])
    let slope = max(before, after) - here
    return slope > 0 ? (before - after) / (2 * slope) : 0
  }

  /// Mean difference over where the two overlap.
  private func cost(x: Int, y: Int) -> Float {
    let (first, second) = (earlier.span, current.span)
    let count = width - abs(x)
    let rows = height - abs(y)
    var sum: Int32 = 0
    for row in 0..<rows {
      let from = (row + max(0, -y)) * width + max(0, -x)
      let to = (row + max(0, y)) * width + max(0, x)
      sum &+= difference(
        first.extracting(from..<from + count), second.extracting(to..<to + count))
    }
    return Float(sum) / Float(count * rows)
  }
}

/// Sum of absolute differences of numbers within -127...127: of rows below 2^20 it fits 32 bits.
func difference(_ first: Span<Int16>, _ second: Span<Int16>) -> Int32 {
  var sum: Int32 = 0
  for x in 0..<first.count {
    let difference = first[x] &- second[x]
    sum &+= Int32(max(difference, 0 &- difference))
  }
  return sum
}

/// Deviation of each pixel from the mean of up to 7 by 7 around it, scaled so that its mean
/// magnitude is 32, clamped to 127. Returns that mean magnitude in levels.
///
/// `sums` and `deviations` are scratch, of a row and of a picture.
func flatten(
  _ bytes: Span<UInt8>, _ width: Int, _ height: Int, _ sums: inout [Int32],
  _ deviations: inout [Int16], into result: inout [Int16]
) -> Float {
  var total: Int32 = 0
  for y in 0..<height {
    let rows = max(0, y - 3)..<min(height, y + 4)
    sumColumns(bytes.extracting(rows.lowerBound * width..<rows.upperBound * width), into: &sums)
    for x in 0..<width {
      let columns = max(0, x - 3)..<min(width, x + 4)
      var sum: Int32 = 0
      for column in columns { sum &+= sums[column] }
      let count = Int32(rows.count &* columns.count)
      // In sixteenths of a level.
      let deviation = 16 &* (Int32(bytes[y &* width &+ x]) &* count &- sum) / count
      deviations[y &* width &+ x] = Int16(deviation)
      total &+= abs(deviation)
    }
  }
  let mean = Float(total) / Float(width * height)
  // Half a level at least: what compression leaves in a plain wall is not blown up.
  let gain = 32 / max(mean, 8)
  for index in 0..<width * height {
    result[index] = Int16(min(max(Float(deviations[index]) * gain, -127), 127))
  }
  return mean / 16
}

/// Sums of the columns of some rows of `sums.count` bytes each.
private func sumColumns(_ bytes: Span<UInt8>, into sums: inout [Int32]) {
  let width = sums.count
  for x in 0..<width { sums[x] = 0 }
  var start = 0
  while start < bytes.count {
    let row = bytes.extracting(start..<start + width)
    for x in 0..<width { sums[x] &+= Int32(row[x]) }
    start += width
  }
}
