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

/// Whether two measurements of one quantity differ by more than noise.
struct Comparison {
  enum Verdict: String {
    case same, more, less
    /// Too few rounds to estimate the error.
    case tooFewRounds
  }

  /// Relative change of the median.
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

  init(_ earlier: Rounds, _ now: Rounds) {
    change = earlier.median > 0 ? now.median / earlier.median - 1 : 0
    let error = (earlier.error * earlier.error + now.error * now.error).squareRoot()
    if min(earlier.rounds.count, now.rounds.count) < Self.leastRounds {
      verdict = .tooFewRounds
    } else if abs(change) <= max(Self.leastChange, Self.leastErrors * error) {
      verdict = .same
    } else {
      verdict = change > 0 ? .more : .less
    }
  }
}
