internal import Glibc

/// The smoothest path of one axis through a tube whose place is less certain the farther ahead it is.
///
/// Over the knots of a horizon it minimises
///
///     sum of  change of velocity² / time between
///             + time * (wall * E[max(|path - middle + error| - margin, 0)²]
///                       + pull * (path - middle + lag)²)
///
/// where `error` is normal with the standard deviation `spread`, the uncertainty of the tube's middle.
/// Newton's method, from where `path` is; each step solves a system with five diagonals.
/// Three to five steps of about 3 µs for 41 knots. All memory is taken by `init`.
struct SmoothestPath {
  struct Knot {
    /// Ticks since the knot before.
    var ticks = 1.0
    /// The tube's middle, relative to the path's present value, and half its width.
    var middle = 0.0
    var margin = 0.0
    /// Standard deviation of `middle`.
    var spread = 0.0
    /// Weight of leaving the tube.
    var wall = 0.0
    /// The path, relative to its present value.
    var path = 0.0
  }

  /// The diagonals of the symmetric system, and its right side.
  private struct Row {
    var diagonal = 0.0
    var next = 0.0
    var afterNext = 0.0
    var right = 0.0
  }

  var knots: [Knot]
  /// Weight of the distance from the middle.
  var pull = 0.0
  /// Distance behind the middle that `pull` draws the path to.
  var lag = 0.0
  private var rows: [Row]

  init(capacity: Int) {
    knots = [Knot](repeating: Knot(), count: capacity)
    rows = [Row](repeating: Row(), count: capacity)
  }

  /// Most steps of Newton's method. Larger: costs more in rare hard cases; three to five are usual.
  private static let mostSteps = 12
  /// Step, in pixels or radians, that ends the search. Larger: quicker, less exact. Far below what shows.
  private static let settled = 1e-5

  /// Solves for the first `count` knots, from a `velocity` per tick that a step of `before` ticks had; where
  /// `before` is 0, any first velocity is free. With `isStart` the first knot is where the path begins: its
  /// position is free, too.
  mutating func solve(_ count: Int, velocity: Double, before: Double, isStart: Bool = false) {
    for _ in 0..<Self.mostSteps {
      for index in 0..<count { pullAndWall(index) }
      if before > 0, !isStart { bendFirst(velocity, before) }
      let first = isStart ? 2 : 1
      for index in first..<max(first, count) { bend(index) }
      if step(count) < Self.settled { break }
    }
  }

  /// The cost of a knot's position.
  private mutating func pullAndWall(_ index: Int) {
    let knot = knots[index]
    let offset = knot.path - knot.middle
    let (slope, bend) = Self.wall(offset, margin: knot.margin, spread: knot.spread)
    rows[index] = Row(
      // A little more than nothing, so that the last knots are defined.
      diagonal: 1e-12 + knot.ticks * (knot.wall * bend + pull),
      right: -knot.ticks * (knot.wall * slope + pull * (offset + lag)))
  }

  /// The cost of the first change of velocity.
  private mutating func bendFirst(_ velocity: Double, _ before: Double) {
    let ticks = knots[0].ticks
    let weight = 2 / (ticks + before)
    let change = knots[0].path / ticks - velocity
    rows[0].diagonal += weight / (ticks * ticks)
    rows[0].right -= weight * change / ticks
  }

  /// The cost of the change of velocity at the knot before `index`; before the first the path is 0.
  private mutating func bend(_ index: Int) {
    let (ticks, before) = (knots[index].ticks, knots[index - 1].ticks)
    let weight = 2 / (ticks + before)
    let earlier = index >= 2 ? knots[index - 2].path : 0
    let change =
      (knots[index].path - knots[index - 1].path) / ticks
      - (knots[index - 1].path - earlier) / before
    let (a, b, c) = (1 / ticks, -1 / ticks - 1 / before, 1 / before)
    rows[index].diagonal += weight * a * a
    rows[index].right -= weight * a * change
    rows[index - 1].diagonal += weight * b * b
    rows[index - 1].next += weight * a * b
    rows[index - 1].right -= weight * b * change
    guard index >= 2 else { return }
    rows[index - 2].diagonal += weight * c * c
    rows[index - 2].next += weight * b * c
    rows[index - 2].afterNext += weight * a * c
    rows[index - 2].right -= weight * c * change
  }

  /// Solves the system by its factors L D Lᵀ, moves the path, and returns by how much at most.
  private mutating func step(_ count: Int) -> Double {
    for index in 0..<count - 1 {
      let row = rows[index]
      let near = row.next / row.diagonal
      rows[index + 1].diagonal -= near * row.next
      rows[index + 1].right -= near * row.right
      guard index + 2 < count else { continue }
      let far = row.afterNext / row.diagonal
      rows[index + 1].next -= near * row.afterNext
      rows[index + 2].diagonal -= far * row.afterNext
      rows[index + 2].right -= far * row.right
    }
    var (near, far, most) = (0.0, 0.0, 0.0)
    for index in stride(from: count - 1, through: 0, by: -1) {
      let row = rows[index]
      let step = (row.right - row.next * near - row.afterNext * far) / row.diagonal
      knots[index].path += step
      most = max(most, abs(step))
      (near, far) = (step, near)
    }
    return most
  }

  /// First and second derivative by `offset` of half of E[max(|offset + error| - margin, 0)²].
  static func wall(_ offset: Double, margin: Double, spread: Double) -> (Double, Double) {
    guard spread > 1e-9 else {
      let over = abs(offset) - margin
      return over > 0 ? (offset < 0 ? -over : over, 1) : (0, 0)
    }
    let over = excess(offset - margin, spread)
    let under = excess(-offset - margin, spread)
    return (over.mean - under.mean, over.probability + under.probability)
  }

  /// E[max(value + error, 0)], and how probable it is that it is above 0.
  private static func excess(_ value: Double, _ spread: Double)
    -> (mean: Double, probability: Double)
  {
    let z = value / spread
    // Beyond that the density is below 1e-8.
    guard abs(z) < 6 else { return z > 0 ? (value, 1) : (0, 0) }
    let probability = 0.5 * erfc(-z * 0.5.squareRoot())
    let density = exp(-0.5 * z * z) / (2 * Double.pi).squareRoot()
    return (value * probability + spread * density, probability)
  }
}
