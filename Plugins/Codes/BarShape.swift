internal import Glibc
internal import SprocketCore

/// The rectangle of a bar code, from the points at which scan lines left it. Pure; all memory is allocated by
/// `init`.
///
/// Scan lines leave a code at its last bar, and some kinds also in the middle. So the points lie on a few
/// lines along the bars, and the direction of the bars is that in which they lie on the fewest lines. The
/// rectangle has sides along and across the bars and holds all points. If the code is turned, scan lines that
/// cross both of its ends begin at the upper corner of one end and finish at the lower corner of the other,
/// so that all four are known.
struct BarShape {
  /// A direction in the picture, of length 1.
  typealias Step = (x: Double, y: Double)

  /// Greatest angle between the coarse direction of reading and the true one, in degrees. Larger: more
  /// directions are tried. Beyond 45 degrees scan lines cannot read a code, unless it is taller than wide.
  private static let widest = 60.0
  /// Distance of the directions that are tried, in degrees: first, and then around the best. Larger: faster,
  /// less exact.
  private static let coarse = 3.0
  private static let fine = 0.25
  /// Width of a line, in pixels. Larger: noise in the points matters less, and neighbouring directions
  /// differ less.
  private static let lineWidth = 2.0
  /// Fewest points that tell a direction. Fewer may lie on a line by chance; then the bars are taken to be
  /// upright.
  private static let fewest = 8
  /// Distance from the outermost point, in pixels, of points that belong to that end. Larger: more noise.
  private static let endWidth = 4.0

  private var points: [(x: Double, y: Double)] = []
  private let mostPoints: Int
  private var counts: [Int]
  private let reach: Double

  init(width: Int, height: Int) {
    // Each row and column is scanned once, and passes at most three guards.
    mostPoints = 4 * (width + height)
    points.reserveCapacity(mostPoints)
    reach = Double(width + height)
    counts = [Int](repeating: 0, count: Int(2 * reach / Self.lineWidth) + 2)
  }

  mutating func removeAll() { points.removeAll(keepingCapacity: true) }

  /// Adds a point, (0, 0) being the middle of the first pixel. Those beyond the picture, or more than there
  /// can be, are left out.
  mutating func add(x: Double, y: Double) {
    guard points.count < mostPoints, x.magnitude + y.magnitude < reach else { return }
    points.append((x, y))
  }

  /// Top left, top right, bottom right and bottom left, as one reads the code. `step` is the coarse direction
  /// of reading. NaN if there are no points.
  mutating func corners(reading step: Step) -> CornerValues {
    guard !points.isEmpty else { return CornerValues(repeating: .nan) }
    let across = points.count < Self.fewest ? step : direction(step)
    // Downwards if one reads to the right.
    let along = (x: -across.y, y: across.x)
    let (left, right) = extent(across)
    let (top, bottom) = extent(along)
    var corners = CornerValues(repeating: 0)
    for index in 0..<4 {
      let side = index == 1 || index == 2 ? right : left
      // A point is in the middle of its scan line.
      let end = index < 2 ? top - 0.5 : bottom + 0.5
      corners[2 * index] = across.x * side + along.x * end
      corners[2 * index + 1] = across.y * side + along.y * end
    }
    return corners
  }

  /// The direction across the bars.
  private mutating func direction(_ step: Step) -> Step {
    let start = atan2(step.y, step.x)
    var best = (angle: start, score: score(step))
    for (spacing, width) in [(Self.coarse, Self.widest), (Self.fine, Self.coarse)] {
      let middle = best.angle
      for index in 1...Int(width / spacing) {
        for sign in [-1.0, 1.0] {
          let angle = middle + sign * Double(index) * spacing * .pi / 180
          let score = score((cos(angle), sin(angle)))
          if score > best.score { best = (angle, score) }
        }
      }
    }
    return fitted((cos(best.angle), sin(best.angle)))
  }

  /// How closely the points lie on lines across `step`: larger if on fewer.
  private mutating func score(_ step: Step) -> Int {
    for index in counts.indices { counts[index] = 0 }
    for point in points { counts[line(point, step)] += 1 }
    var sum = 0
    // Pairs of lines, for points at the border of two.
    for index in 1..<counts.count {
      let both = counts[index - 1] + counts[index]
      sum += both * both
    }
    return sum
  }

  private func line(_ point: (x: Double, y: Double), _ step: Step) -> Int {
    let place = (Self.distance(point, step) + reach) / Self.lineWidth
    return min(max(Int(place), 0), counts.count - 1)
  }

  private static func distance(_ point: (x: Double, y: Double), _ step: Step) -> Double {
    point.x * step.x + point.y * step.y
  }

  private func extent(_ step: Step) -> (least: Double, greatest: Double) {
    var (least, greatest) = (Double.infinity, -Double.infinity)
    for point in points {
      let distance = Self.distance(point, step)
      (least, greatest) = (min(least, distance), max(greatest, distance))
    }
    return (least, greatest)
  }

  /// The direction across the line that fits the points of both ends best, by their common covariance.
  private func fitted(_ step: Step) -> Step {
    let (least, greatest) = extent(step)
    var (xx, xy, yy) = (0.0, 0.0, 0.0)
    for isFirst in [true, false] {
      var (count, x, y) = (0.0, 0.0, 0.0)
      for pass in 0..<2 {
        for point in points {
          let distance = Self.distance(point, step)
          let isIn =
            isFirst ? distance < least + Self.endWidth : distance > greatest - Self.endWidth
          guard isIn else { continue }
          if pass == 0 {
            (count, x, y) = (count + 1, x + point.x, y + point.y)
          } else {
            let (dx, dy) = (point.x - x / count, point.y - y / count)
            (xx, xy, yy) = (xx + dx * dx, xy + dx * dy, yy + dy * dy)
          }
        }
      }
    }
    let angle = atan2(2 * xy, xx - yy) / 2
    let across = (x: sin(angle), y: -cos(angle))
    let cosine = across.x * step.x + across.y * step.y
    // Ends that are shorter than they are wide have no direction.
    guard cosine.magnitude > 0.9 else { return step }
    return cosine < 0 ? (-across.x, -across.y) : across
  }
}
