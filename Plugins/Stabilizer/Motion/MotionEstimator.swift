internal import SprocketCore

/// Estimates how the picture moved between two frames.
///
/// 1. `CoarseSearch` on pictures of some 60 pixels: the whole picture's shift, however fast the pan.
/// 2. `CornerFinder`: points of the earlier frame that can be found again, one per cell.
/// 3. `Patch`: each is found in this frame, from the third finest level to the finest.
/// 4. `SimilarityFit` after each level; the next begins where the fit or the point's own track says,
///    whichever looks more alike.
///
/// Keeps nothing from pair to pair; all memory is taken by `init`. The same two frames give the same
/// numbers on every worker.
struct MotionEstimator {
  let width: Int
  let height: Int
  /// The luma that it compares, finest first: what `copy` is to be given for both pyramids.
  let scales: [LumaScale]
  /// Side of a finest pixel in pixels of the full picture.
  let divisor: Int
  var earlier: LumaPyramid
  var current: LumaPyramid
  private var search: CoarseSearch
  private var finder: CornerFinder
  private var patch = Patch()
  private var tracks: [Track]
  private(set) var points: TrackedPoints
  let fit: SimilarityFit
  /// Area for each point, in squared finest pixels.
  private let cell: Float
  /// The level that corners are found in.
  private let cornerLevel: Int

  /// A point on its way through the levels; in pixels of the level at hand.
  struct Track {
    /// In pixels of the finest level.
    var x: Float = 0
    var y: Float = 0
    /// From there to where it is now, in pixels of the finest level.
    var dx: Float = 0
    var dy: Float = 0
    var isFound = false
    /// Variance of its place each way, in squared pixels of the level.
    var variance: Float = 0
  }

  /// Fewest points that a motion is taken from. Larger: plain scenes count as blank more often. Four
  /// times the two that a similarity needs.
  static let leastPoints = 8

  /// Pictures of that size.
  init(width: Int, height: Int) {
    self.width = width
    self.height = height
    scales = Self.scales(longerSide: max(width, height))
    divisor = scales[0].divisor
    let (fineWidth, fineHeight) = (
      (width + divisor - 1) / divisor, (height + divisor - 1) / divisor
    )
    earlier = LumaPyramid(
      width: fineWidth, height: fineHeight, given: scales.count, coarsest: Self.coarsest)
    current = earlier
    let coarsest = earlier.levels[earlier.levels.count - 1]
    search = CoarseSearch(width: coarsest.width, height: coarsest.height)
    cornerLevel = max(fineWidth, fineHeight) >= 480 && earlier.levels.count > 1 ? 1 : 0
    let level = earlier.levels[cornerLevel]
    let columns = Self.cells(across: fineWidth, of: max(fineWidth, fineHeight))
    let rows = Self.cells(across: fineHeight, of: max(fineWidth, fineHeight))
    finder = CornerFinder(
      width: level.width, height: level.height, columns: columns, rows: rows,
      margin: cornerLevel == 0 ? 9 : 6)
    tracks = [Track](repeating: Track(), count: columns * rows)
    points = TrackedPoints(capacity: columns * rows, width: fineWidth, height: fineHeight)
    let radius = Float(fineWidth * fineWidth + fineHeight * fineHeight).squareRoot() / 2
    fit = SimilarityFit(reach: max(1.5, radius / 200), radius: radius)
    // Points of the finest level count in full, however small the picture is.
    cell = max(
      Float(fineWidth * fineHeight) / Float(columns * rows), Float(Patch.side * Patch.side))
  }

  /// From 640 to 1279 pixels on the longer side, where the picture has as many, down to what is
  /// searched, or to the engine's least.
  static func scales(longerSide: Int) -> [LumaScale] {
    var scales: [LumaScale] = []
    for scale in LumaScale.allCases {
      let side = (longerSide + scale.divisor - 1) / scale.divisor
      guard side < 1280 || scale == .eighth else { continue }
      scales.append(scale)
      if side <= coarsest { break }
    }
    return scales
  }

  /// Longest side, in pixels, of the pictures that `CoarseSearch` compares. Larger: finer first shifts, at a
  /// cost that grows with its fourth power.
  private static let coarsest = 64

  /// 20 along the longer side, unless they were less than 12 finest pixels.
  private static func cells(across side: Int, of longer: Int) -> Int {
    max(2, min(side * 20 / longer, side / 12))
  }

  /// Compares what was copied into `earlier` and `current`.
  mutating func motion() -> FrameMotion {
    var motion = FrameMotion()
    let count = findCorners()
    guard count >= Self.leastPoints else {
      motion.comparison = .blank
      return motion
    }
    motion.comparison = .tracked
    earlier.finish()
    current.finish()
    let coarsest = earlier.levels.count - 1
    let match = search.match(earlier.levels[coarsest], current.levels[coarsest])
    let scale = Float(1 << coarsest)
    var result = SimilarityFit.Result()
    result.motion.x = match.x * scale
    result.motion.y = match.y * scale
    let first = earlier.levels.lastIndex { max($0.width, $0.height) >= 100 } ?? 0
    var best = Believed()
    for level in stride(from: min(2, first), through: 0, by: -1) {
      let isFirst = level == min(2, first)
      let far = isFirst ? match.other.map { ($0.x * scale, $0.y * scale) } : nil
      track(level, guess: result.motion, far, isFirst: isFirst, count: count)
      result = fit.fit(points, guess: result.motion)
      // Where patches overlap, their points err alike, and are not as many witnesses.
      let side = Float(Patch.side << level)
      result.evidence /= max(1, side * side / cell)
      best.take(result, points.count, confidence: confidence(result, of: count))
    }
    conclude(&motion, best, match)
    return motion
  }
}

extension MotionEstimator {
  /// Puts the corners that can be tracked into `tracks` and returns their number.
  private mutating func findCorners() -> Int {
    finder.find(in: earlier.levels[cornerLevel])
    let scale = Float(1 << cornerLevel)
    var count = 0
    for corner in finder.corners where corner.response > Self.leastResponse {
      tracks[count] = Track(
        x: (Float(corner.x) + 0.5) * scale - 0.5, y: (Float(corner.y) + 0.5) * scale - 0.5)
      count += 1
    }
    return count
  }

  /// Least corner response (mean squared difference of neighbours, in squared levels, along the direction
  /// that varies least). Larger: fewer points in plain scenes. By trial.
  private static let leastResponse: Float = 1

  /// Finds all points in one level, and fills `points` with those found.
  private mutating func track(
    _ level: Int, guess: PlainMotion, _ far: (Float, Float)?, isFirst: Bool, count: Int
  ) {
    points.removeAll()
    let middleX = Float(width) / Float(2 * divisor) - 0.5
    let middleY = Float(height) / Float(2 * divisor) - 0.5
    for index in 0..<count {
      let (x, y) = (tracks[index].x - middleX, tracks[index].y - middleY)
      let (toX, toY) = guess.apply(x, y)
      // Other places to begin: no motion and another shift at first, then where the level before left it.
      let other: (x: Float, y: Float)? =
        isFirst ? (0, 0) : tracks[index].isFound ? (tracks[index].dx, tracks[index].dy) : nil
      follow(index, level, (toX - x, toY - y), other, far)
      guard tracks[index].isFound else { continue }
      let variance = tracks[index].variance * Float(1 << 2 * level)
      points.append(
        x: x, y: y, toX: x + tracks[index].dx, toY: y + tracks[index].dy,
        weight: Self.modelVariance / (Self.modelVariance + variance))
    }
  }

  /// Variance of a point about the best similarity that is not noise (depth, lens), in squared finest
  /// pixels. Larger: sharp and soft points weigh more alike. By trial: 0.1 pixels RMS.
  private static let modelVariance: Float = 0.01

  /// Finds one point in one level, from the best of up to three guesses in finest pixels.
  private mutating func follow(
    _ index: Int, _ level: Int, _ guess: (x: Float, y: Float), _ other: (x: Float, y: Float)?,
    _ far: (x: Float, y: Float)?
  ) {
    let scale = Float(1 << level)
    let half = Float(Patch.side / 2)
    let size = earlier.levels[level]
    tracks[index].isFound = false
    // The patch's upper left corner, to a whole pixel; moved into the picture, which has room for it.
    let (lastX, lastY) = (size.width - Patch.side - 2, size.height - Patch.side - 2)
    guard lastX >= 1, lastY >= 1 else { return }
    let x = min(max(Int(((tracks[index].x + 0.5) / scale - half).rounded()), 1), lastX)
    let y = min(max(Int(((tracks[index].y + 0.5) / scale - half).rounded()), 1), lastY)
    patch.take(size, x: x, y: y)
    guard patch.strength > Self.leastStrength else { return }
    let (startX, startY) = (Float(x), Float(y))
    var (toX, toY) = (startX + guess.x / scale, startY + guess.y / scale)
    var step = compare(level, toX, toY)
    for place in 0..<2 {
      guard let other = place == 0 ? other : far,
        abs(other.x - guess.x) + abs(other.y - guess.y) > 0.5 * scale,
        let second = compare(level, startX + other.x / scale, startY + other.y / scale),
        step.map({ second.correlation > $0.correlation }) ?? true
      else { continue }
      (toX, toY) = (startX + other.x / scale, startY + other.y / scale)
      step = second
    }
    guard var step else { return }
    var isSettled = false
    for _ in 0..<Self.mostSteps {
      let length = step.x * step.x + step.y * step.y
      guard length < 16 else { return }
      toX += step.x
      toY += step.y
      isSettled = length < Self.settled * Self.settled
      if isSettled { break }
      guard let next = compare(level, toX, toY) else { return }
      step = next
    }
    let variance = step.error / 250 / patch.strength
    guard isSettled, step.correlation > Self.leastCorrelation, variance < 0.25 else { return }
    tracks[index].dx = (toX - startX) * scale
    tracks[index].dy = (toY - startY) * scale
    tracks[index].variance = variance
    tracks[index].isFound = true
  }

  /// Least eigenvalue of a patch's products of derivatives, in squared levels over its 256 pixels. Larger:
  /// fewer points in plain scenes. A quarter of `leastResponse` at each pixel.
  private static let leastStrength: Float = 64
  /// Least correlation of a patch with the place where it was found. Larger: fewer false matches, and fewer
  /// points through blur and noise. By trial.
  private static let leastCorrelation: Float = 0.6
  /// Most steps of the search for a patch in one level. Larger: costs more where points are lost anyway.
  private static let mostSteps = 10
  /// Step, in pixels of the level, that ends the search. Larger: quicker, less exact: each step is a
  /// fraction of the one before, so the error left is smaller than this.
  private static let settled: Float = 0.02

  private func compare(_ level: Int, _ x: Float, _ y: Float) -> Patch.Step? {
    let size = current.levels[level]
    let side = Float(Patch.side)
    guard x >= 0, y >= 0, x + side + 1 < Float(size.width), y + side + 1 < Float(size.height) else {
      return nil
    }
    return patch.compare(size, x: x, y: y)
  }
}
