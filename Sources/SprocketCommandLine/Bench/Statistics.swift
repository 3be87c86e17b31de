/// What was measured of one thing in each round. The median and the spread say what it usually is, and
/// leave out rounds in which another program was in the way.
struct Rounds: Codable {
  let rounds: [Double]
  let median: Double
  /// Distance of the quartiles, as a share of the median: half of the rounds lie within it.
  let spread: Double

  init(_ values: [Double]) {
    rounds = values
    let sorted = values.sorted()
    median = Self.quantile(0.5, sorted)
    let distance = Self.quantile(0.75, sorted) - Self.quantile(0.25, sorted)
    spread = median > 0 ? distance / median : 0
  }

  /// The faster half of the rounds: its median, and the standard error of that as a share of it. What comes
  /// in the way of a round makes it slower, never faster, so this half tells most of the program itself.
  ///
  /// The error is that of McGill, Tukey and Larsen, "Variations of box plots" (1978):
  /// 1.25 / 1.35 of the distance of the quartiles, over the root of the number.
  var fasterHalf: (median: Double, error: Double) {
    let half = Rounds(Array(rounds.sorted().prefix((rounds.count + 1) / 2)))
    return (half.median, 1.25 / 1.35 * half.spread / Double(max(half.rounds.count, 1)).squareRoot())
  }

  /// Between two neighbours, in proportion; 0 of nothing.
  private static func quantile(_ share: Double, _ sorted: [Double]) -> Double {
    guard let last = sorted.last else { return 0 }
    let place = share * Double(sorted.count - 1)
    let below = Int(place)
    guard below + 1 < sorted.count else { return last }
    return sorted[below] + (place - Double(below)) * (sorted[below + 1] - sorted[below])
  }
}

/// Whether two results of one thing differ by more than chance and the machine explain.
struct Comparison {
  enum Verdict: String {
    case same, more, less
    /// The error is not known.
    case tooFewRounds
  }

  /// Share by which the median of the faster half has grown.
  let change: Double
  let verdict: Verdict

  /// Least change that is told, as a share. Another layout of the same code in memory and another hour of the
  /// same machine make some percent by themselves (Mytkowicz et al., "Producing wrong data without doing
  /// anything obviously wrong", 2009). A larger value misses more, a smaller one tells of noise.
  static let leastChange = 0.05
  /// Least change that is told, in standard errors: by chance one of 370 comparisons is further off. A larger
  /// value misses more.
  static let leastErrors = 3.0
  /// Half of fewer rounds has no quartiles.
  static let leastRounds = 6

  init(_ earlier: Rounds, _ now: Rounds) {
    let (before, after) = (earlier.fasterHalf, now.fasterHalf)
    change = before.median > 0 ? after.median / before.median - 1 : 0
    let error = (before.error * before.error + after.error * after.error).squareRoot()
    if min(earlier.rounds.count, now.rounds.count) < Self.leastRounds {
      verdict = .tooFewRounds
    } else if abs(change) <= max(Self.leastChange, Self.leastErrors * error) {
      verdict = .same
    } else {
      verdict = change > 0 ? .more : .less
    }
  }
}
