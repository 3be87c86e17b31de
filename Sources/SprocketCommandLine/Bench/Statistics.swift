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

  /// Standard error of the median, as a share of it: 1.2533 standard deviations over the root of the number
  /// (normal noise), where the deviation is 1.4826 times the median distance from the median, which rounds
  /// that another program disturbed hardly change (Rousseeuw and Croux, 1993).
  var error: Double {
    guard median > 0, !rounds.isEmpty else { return 0 }
    let distances = rounds.map { abs($0 - median) }.sorted()
    let deviation = 1.4826 * Self.quantile(0.5, distances) / median
    return 1.2533 * deviation / Double(rounds.count).squareRoot()
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

  /// Share by which the median has grown.
  let change: Double
  let verdict: Verdict

  /// Least change that is told, as a share. Another layout of the same code in memory and another hour of the
  /// same machine make some percent by themselves (Mytkowicz et al., "Producing wrong data without doing
  /// anything obviously wrong", 2009). A larger value misses more, a smaller one tells of noise.
  static let leastChange = 0.05
  /// Least change that is told, in standard errors, which are themselves estimated from few rounds. Of 20,000
  /// simulated pairs of 10 rounds that differed by noise alone, of 1.5 to 10 %, at most 0.3 % were told; of
  /// pairs 10 % apart, with 1.5 % of noise and a tenth of the rounds disturbed, 0.6 % were missed. With 3
  /// it was 1.5 % and 0.2 %.
  static let leastErrors = 4.0
  /// With fewer rounds the error is known too badly.
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
