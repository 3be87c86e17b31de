/// One quantity, measured once per round. Median and quartiles are used because they ignore the few rounds
/// that other programs disturbed.
struct Rounds: Codable {
  let rounds: [Double]
  let median: Double
  /// Interquartile range as a fraction of the median.
  let spread: Double

  init(_ values: [Double]) {
    rounds = values
    let sorted = values.sorted()
    median = Self.quantile(0.5, sorted)
    let distance = Self.quantile(0.75, sorted) - Self.quantile(0.25, sorted)
    spread = median > 0 ? distance / median : 0
  }

  /// Standard error of the median, as a fraction of it: 1.2533 standard deviations divided by the root of the
  /// number of rounds (for normal noise). The standard deviation is estimated as 1.4826 times the median
  /// absolute deviation, which disturbed rounds hardly change (Rousseeuw and Croux, 1993).
  var error: Double {
    guard median > 0, !rounds.isEmpty else { return 0 }
    let distances = rounds.map { abs($0 - median) }.sorted()
    let deviation = 1.4826 * Self.quantile(0.5, distances) / median
    return 1.2533 * deviation / Double(rounds.count).squareRoot()
  }

  /// Linear interpolation between the two nearest values; 0 if there is none.
  private static func quantile(_ share: Double, _ sorted: [Double]) -> Double {
    guard let last = sorted.last else { return 0 }
    let place = share * Double(sorted.count - 1)
    let below = Int(place)
    guard below + 1 < sorted.count else { return last }
    return sorted[below] + (place - Double(below)) * (sorted[below + 1] - sorted[below])
  }
}

extension Rounds {
  /// The smallest value. What disturbs a measurement makes it longer, so the smallest value varies least from
  /// one session to the next (J. Chen and J. Revels, "Robust benchmarking in noisy environments", 2016).
  var least: Double { rounds.min() ?? 0 }

  func first(_ count: Int) -> Rounds { Rounds(Array(rounds.prefix(count))) }

  /// Error of `least`, as a fraction of it: the distance of the third smallest value, and at least
  /// `resolution`. It is large if few rounds were undisturbed.
  func leastError(resolution: Double) -> Double {
    guard rounds.count > 2, least > 0 else { return .infinity }
    return max(rounds.sorted()[2] - least, resolution) / least
  }
}

/// Whether two measurements of one quantity differ by more than noise.
struct Comparison {
  enum Verdict: String {
    case same, more, less
    /// Too few rounds to estimate the error.
    case tooFewRounds
  }

  /// Relative change.
  let change: Double
  let verdict: Verdict

  /// Smallest relative change that is reported. The layout of the same code in memory, and the same machine
  /// an hour later, make a few percent of difference (Mytkowicz et al., "Producing wrong data without doing
  /// anything obviously wrong", 2009). Larger: misses more; smaller: reports noise.
  static let leastChange = 0.05
  /// Smallest change that is reported, in standard errors. The errors are themselves estimated from few
  /// rounds. In 20,000 simulated pairs of 10 rounds that differed by noise alone (1.5 to 10 %), at most 0.3 %
  /// were reported; of pairs that differed by 10 %, with 1.5 % of noise and a tenth of the rounds disturbed,
  /// 0.6 % were missed. With 3 errors it was 1.5 % and 0.2 %.
  static let leastErrors = 4.0
  /// Fewest rounds for a comparison. With fewer the error is estimated too poorly.
  static let leastRounds = 10

  /// Compares medians.
  init(_ earlier: Rounds, _ now: Rounds) {
    let error = (earlier.error * earlier.error + now.error * now.error).squareRoot()
    self.init(
      from: earlier.median, to: now.median, noise: Self.leastErrors * error,
      rounds: min(earlier.rounds.count, now.rounds.count))
  }

  /// Compares the smallest values, which were measured to `resolution`. Uses the same number of rounds on
  /// both sides, because the smallest of more rounds is smaller.
  init(least earlier: Rounds, _ now: Rounds, resolution: Double) {
    let count = min(earlier.rounds.count, now.rounds.count)
    let (earlier, now) = (earlier.first(count), now.first(count))
    let errors = (
      earlier.leastError(resolution: resolution), now.leastError(resolution: resolution)
    )
    self.init(
      from: earlier.least, to: now.least,
      noise: (1 + errors.0) * (1 + errors.1) - 1,
      rounds: count)
  }

  private init(from earlier: Double, to now: Double, noise: Double, rounds: Int) {
    change = earlier > 0 ? now / earlier - 1 : 0
    // Changes are compared as factors: twice as fast and twice as slow are both 2. As a fraction of the
    // earlier value they would be 50 % and 100 %.
    let factor = earlier > 0 && now > 0 ? max(now / earlier, earlier / now) : 1
    if rounds < Self.leastRounds {
      verdict = .tooFewRounds
    } else if factor <= 1 + max(Self.leastChange, noise) {
      verdict = .same
    } else {
      verdict = change > 0 ? .more : .less
    }
  }
}
