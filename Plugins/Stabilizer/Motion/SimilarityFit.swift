internal import Glibc

/// Finds the similarity that most points agree on.
///
/// First RANSAC (M. Fischler, R. Bolles, CACM 24, 1981) with the score of MSAC (P. Torr, A.
/// Zisserman, CVIU 78, 2000) over pairs of points from a fixed seed, so that the result depends on
/// the points alone; then least squares, reweighted by Tukey's biweight of the residuals.
struct SimilarityFit {
  /// What was found.
  struct Result {
    var motion = PlainMotion()
    /// Points within reach of it.
    var inliers = 0
    /// Robust deviation of the inliers' residuals, each way, in pixels.
    var deviation: Float = 0
    /// Standard error of the shift at the picture's middle, each way, in pixels.
    var error: Float = 0
    /// How much better the fit explains the inliers than no motion does: the difference of their
    /// chi-squares.
    var gain: Float = 0
    /// How improbable so many inliers are among points scattered at random: the logarithm of 1 over the
    /// number of such fits to expect.
    var evidence: Float = 0
    /// Area over which the inliers lie, over that of points all over the picture: 0 to about 1.
    var extent: Float = 0
  }

  /// How far from its place a point may be and still agree, in pixels.
  let reach: Float
  /// Half the picture's diagonal, in pixels: the distance of a corner from the middle. Two points closer than
  /// a fifth of it do not define a motion.
  let radius: Float

  /// Pairs of points that RANSAC tries. Larger: costs more, finds smaller groups that agree: 160 miss a
  /// group of a quarter of the points once in 30,000 times (15/16 to the power of 160).
  private static let draws = 160
  /// Reweighted least-squares steps. Larger: costs more. By trial.
  private static let iterations = 8
  /// Residual, in deviations, from which a point has no weight. Larger: more efficient with Gaussian
  /// errors, more affected by outliers. Tukey's constant: 95 % efficiency.
  private static let biweight: Float = 4.685
  /// Least deviation of residuals, in pixels: what interpolation and rounding cause. Larger: small motions
  /// count as less certain.
  private static let leastDeviation: Float = 0.03

  /// The motion of the points, or of most of them. Where half of them (by `say`) agree within a quarter of
  /// `reach`, that is the limit, and nearby others are outliers; only a scene with depth, or a lens that
  /// bends it, needs all of `reach`.
  func fit(_ points: TrackedPoints, guess: PlainMotion) -> Result {
    guard points.count >= 3 else { return Result() }
    var (limit, total) = (reach / 4, points.totalSay)
    var best = search(points, guess, reach: limit)
    if best.score <= total / 2 {
      limit = reach
      best = search(points, guess, reach: limit)
    }
    if best.score < Self.majority * total {
      // The background lies all over the picture; what is near, and moves on its own, in a part of it.
      let other = search(points, guess, reach: limit, without: best.motion)
      if other.score * extent(points, other.motion, limit, without: best.motion)
        > best.score * extent(points, best.motion, limit)
      {
        best = other
      }
    }
    return refine(points, best.motion, reach: limit)
  }

  /// Share of the points, by `say`, from which a group is the background without another look. Larger: costs
  /// more where much moves.
  private static let majority: Float = 0.7

  /// Area over which the points near a motion lie: the root of the determinant of their covariance, in
  /// squared pixels.
  private func extent(
    _ points: TrackedPoints, _ motion: PlainMotion, _ reach: Float, without: PlainMotion? = nil
  ) -> Float {
    var (sum, x, y, xx, xy, yy): (Float, Float, Float, Float, Float, Float) = (0, 0, 0, 0, 0, 0)
    for column in 0..<points.eights {
      let squares = points.squaredResiduals(column, motion)
      let taken = without.map { points.squaredResiduals(column, $0) }
      for lane in 0..<8 where squares[lane] < reach * reach {
        let weight = points.say[column][lane]
        guard weight > 0, taken.map({ $0[lane] >= reach * reach }) ?? true else { continue }
        let (px, py) = (points.x[column][lane], points.y[column][lane])
        sum += weight
        x += weight * px
        y += weight * py
        xx += weight * px * px
        xy += weight * px * py
        yy += weight * py * py
      }
    }
    guard sum > 0 else { return 0 }
    (x, y) = (x / sum, y / sum)
    let (a, b, c) = (xx / sum - x * x, xy / sum - x * y, yy / sum - y * y)
    return max(a * c - b * b, 0).squareRoot()
  }

  private struct Candidate {
    var motion = PlainMotion()
    var score: Float
  }

  /// The motion that most points agree on, of those that do not agree with `without`.
  private func search(
    _ points: TrackedPoints, _ guess: PlainMotion, reach: Float, without: PlainMotion? = nil
  ) -> Candidate {
    // The candidate "the camera stands still" gets a score 10 % higher: in front of a fixed camera, a person
    // may cover more points than the background.
    let standing = PlainMotion()
    var best = Candidate(score: score(points, standing, reach, without: without) * 1.1)
    consider(guess, points, reach, without, &best)
    var random = Draws()
    for _ in 0..<Self.draws {
      let (first, second) = random.pair(below: points.count)
      guard let motion = through(points.point(first), points.point(second)) else { continue }
      consider(motion, points, reach, without, &best)
    }
    return best
  }

  private func consider(
    _ motion: PlainMotion, _ points: TrackedPoints, _ reach: Float, _ without: PlainMotion?,
    _ best: inout Candidate
  ) {
    let score = score(points, motion, reach, without: without)
    guard score > best.score else { return }
    best = Candidate(motion: motion, score: score)
  }

  /// Sum of weights, each by how near its point is; of points that do not agree with `without`.
  func score(
    _ points: TrackedPoints, _ motion: PlainMotion, _ reach: Float, without: PlainMotion? = nil
  ) -> Float {
    let scale = 1 / (reach * reach)
    var sum = TrackedPoints.Eight.zero
    let zero = TrackedPoints.Eight.zero
    for column in 0..<points.eights {
      var near = 1 - points.squaredResiduals(column, motion) * scale
      if let without {
        let taken = points.squaredResiduals(column, without) .< reach * reach
        near.replace(with: zero, where: taken)
      }
      sum += points.say[column] * near.replacing(with: zero, where: near .< zero)
    }
    return sum.sum()
  }

  private typealias Point = (x: Float, y: Float, toX: Float, toY: Float, weight: Float)

  /// The similarity through two points, unless they are too near each other, or it is none that a
  /// camera makes between two frames.
  private func through(_ first: Point, _ second: Point) -> PlainMotion? {
    let (dx, dy) = (second.x - first.x, second.y - first.y)
    let square = dx * dx + dy * dy
    guard square > 0.04 * radius * radius else { return nil }
    let (toX, toY) = (second.toX - first.toX, second.toY - first.toY)
    let a = (toX * dx + toY * dy) / square
    let b = (toY * dx - toX * dy) / square
    // 17 degrees, a fifth nearer.
    guard abs(a - 1) < 0.2, abs(b) < 0.3 else { return nil }
    return PlainMotion(
      a: a, b: b, x: first.toX - a * first.x + b * first.y,
      y: first.toY - b * first.x - a * first.y)
  }

  private func refine(_ points: TrackedPoints, _ start: PlainMotion, reach: Float) -> Result {
    var result = Result(motion: start)
    var limit = reach
    for _ in 0..<Self.iterations {
      let spread = deviation(points, result.motion, within: limit)
      result.deviation = spread
      limit = max(min(reach, Self.biweight * spread), 0.3)
      guard let next = solve(points, result.motion, limit) else { break }
      result.motion = next
    }
    weigh(points, &result)
    return result
  }

  /// One step of reweighted least squares.
  private func solve(_ points: TrackedPoints, _ motion: PlainMotion, _ limit: Float)
    -> PlainMotion?
  {
    var sums = Moments()
    for index in 0..<points.count {
      let point = points.point(index)
      let (x, y) = motion.apply(point.x, point.y)
      let square = (x - point.toX) * (x - point.toX) + (y - point.toY) * (y - point.toY)
      let near = 1 - square / (limit * limit)
      guard near > 0 else { continue }
      sums.add(point.x, point.y, point.toX, point.toY, weight: point.weight * near * near)
    }
    return sums.solution
  }

  /// From the median of the distances of points within `limit`: for two Gaussian coordinates that is
  /// 1.1774 deviations.
  private func deviation(_ points: TrackedPoints, _ motion: PlainMotion, within limit: Float)
    -> Float
  {
    // Counts by distance in 64 steps instead of a sort.
    var counts = InlineArray<64, Float>(repeating: 0)
    var total: Float = 0
    for column in 0..<points.eights {
      let squares = points.squaredResiduals(column, motion)
      for lane in 0..<8 where squares[lane] < limit * limit {
        let weight = points.weight[column][lane]
        counts[min(Int(squares[lane].squareRoot() / limit * 64), 63)] += weight
        total += weight
      }
    }
    var below: Float = 0
    for index in 0..<64 {
      guard below + counts[index] < total / 2 else {
        let part = counts[index] > 0 ? (total / 2 - below) / counts[index] : 0
        return max((Float(index) + part) * limit / 64 / 1.1774, Self.leastDeviation)
      }
      below += counts[index]
    }
    return limit
  }

  /// Counts the inliers, and says how sure they make the result.
  private func weigh(_ points: TrackedPoints, _ result: inout Result) {
    let limit = max(3 * result.deviation, 0.3)
    var moments = Moments()
    let variance = result.deviation * result.deviation
    // Mean square of the outliers' distances, with one more at the reach, which bounds it from below.
    var (outliers, outlierSquares) = (Float(1), reach * reach)
    for index in 0..<points.count {
      let point = points.point(index)
      let (x, y) = result.motion.apply(point.x, point.y)
      let fitted = (x - point.toX) * (x - point.toX) + (y - point.toY) * (y - point.toY)
      guard fitted < limit * limit else {
        outliers += 1
        outlierSquares += max(fitted, reach * reach)
        continue
      }
      let (dx, dy) = (point.x - point.toX, point.y - point.toY)
      result.inliers += 1
      moments.add(point.x, point.y, point.toX, point.toY, weight: point.weight)
      result.gain += point.weight * (min(dx * dx + dy * dy, limit * limit) - fitted) / variance
    }
    result.extent = extent(points, result.motion, limit) * 12 / (points.width * points.height)
    // In blurred frames all weights are small, and say only which points are better than others.
    result.gain /= max(moments.meanWeight(of: result.inliers), 1e-6)
    result.error = result.deviation * moments.leverage.squareRoot()
    // A scattered point lies within the limit with this probability, nearly.
    let chance = min(limit * limit / (outlierSquares / outliers), 0.5)
    result.evidence = Self.evidence(inliers: result.inliers, of: points.count, chance: chance)
  }

  /// Logarithm of 1 over the expected number of fits through two of `count` points that as many agree with
  /// by accident, each of the others with probability `chance`; 0 where there is nothing surprising.
  ///
  /// The number of false alarms of L. Moisan, B. Stival, IJCV 57, 2004, with Chernoff's bound for the
  /// binomial tail.
  static func evidence(inliers: Int, of count: Int, chance: Float) -> Float {
    guard inliers > 2, count > 2 else { return 0 }
    let (others, pairs) = (Float(count - 2), Float(count) * Float(count - 1) / 2)
    let share = Float(inliers - 2) / others
    guard share > chance else { return 0 }
    let misses = share < 1 ? (1 - share) * log((1 - share) / (1 - chance)) : 0
    return max(0, others * (share * log(share / chance) + misses) - log(pairs))
  }
}
