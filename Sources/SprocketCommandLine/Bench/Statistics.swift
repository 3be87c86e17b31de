internal import Glibc
internal import Sprocket

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

  /// The smallest value.
  var least: Double { rounds.min() ?? 0 }

  /// The lower quartile. What disturbs a measurement makes it longer (J. Chen and J. Revels, "Robust
  /// benchmarking in noisy environments", 2016), so up to three quarters of the rounds may be disturbed;
  /// unlike the smallest value, the quartile does not fall as rounds are added.
  var typical: Double { Self.quantile(0.25, rounds.sorted()) }

  /// Linear interpolation between the two nearest values; 0 if there is none.
  fileprivate static func quantile(_ share: Double, _ sorted: [Double]) -> Double {
    guard let last = sorted.last else { return 0 }
    let place = share * Double(sorted.count - 1)
    let below = Int(place)
    guard below + 1 < sorted.count else { return last }
    return sorted[below] + (place - Double(below)) * (sorted[below + 1] - sorted[below])
  }
}

/// The factor between two measurements of one quantity, as natural logarithms: these add up, and twice as
/// fast is as far from 0 as twice as slow.
struct Change {
  let middle: Double
  private(set) var low, high: Double

  /// Share of intervals that hold the true factor, if the rounds are fair samples. Larger: wider intervals,
  /// more that is undecided.
  static let confidence = 0.99
  /// Pairs of samples that are drawn for an interval. Larger: bounds vary less, and take longer.
  private static let draws = 2000
  /// Least distance of a bound, as a fraction: equal programs differ by that much from start to start, by
  /// where their memory lies. Larger: more is undecided; smaller: noise is taken for a change.
  private static let leastDoubt = 0.005

  /// Bootstrap of the lower quartiles (B. Efron, "Bootstrap methods: another look at the jackknife", 1979),
  /// from a fixed seed: the same rounds give the same interval. `resolution` is the error of a single value,
  /// above 0.
  init(from earlier: [Double], to now: [Double], resolution: Double) {
    func logarithm(_ values: [Double]) -> Double { log(max(Rounds(values).typical, resolution)) }
    var random = SplitMix(state: 1)
    let factors = (0..<Self.draws).map { _ in
      logarithm(random.sample(of: now)) - logarithm(random.sample(of: earlier))
    }.sorted()
    let (before, after) = (logarithm(earlier), logarithm(now))
    middle = after - before
    let doubt = log(1 + max(Self.leastDoubt, resolution / exp(min(before, after))))
    let outside = (1 - Self.confidence) / 2
    low = min(Rounds.quantile(outside, factors), middle) - doubt
    high = max(Rounds.quantile(1 - outside, factors), middle) + doubt
  }

  /// Widens the interval until it holds that of `other`, too.
  mutating func extend(to other: Change) {
    low = min(low, other.low)
    high = max(high, other.high)
  }

  /// Moves both bounds outwards by a logarithm.
  mutating func widen(by distance: Double) {
    low -= distance
    high += distance
  }

  /// Whether the quantity has grown, or shrunk, by more than the fraction `limit`.
  func verdict(limit: Double) -> BenchVerdict {
    if low > log(1 + limit) { return .slower }
    guard high < log(1 + limit) else { return .undecided }
    return limit < 1 && high < log(1 - limit) ? .faster : .unchanged
  }
}

enum BenchVerdict: String, Codable {
  /// Slower by more than the limit.
  case slower
  /// Neither slower nor faster by more than the limit.
  case unchanged
  /// Faster by more than the limit. Said of steps alone.
  case faster
  /// The interval holds the limit, or the measurements cannot be compared.
  case undecided
}

/// Random numbers from a seed (G. Steele et al., "Fast splittable pseudorandom number generators", 2014).
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// Draws with replacement as many values as there are.
  mutating func sample(of values: [Double]) -> [Double] {
    values.indices.map { _ in values[Int.random(in: values.indices, using: &self)] }
  }
}

extension [DurationBucket] {
  /// The duration that `percent` of all do not exceed, from the place within its bucket; 0 if there is none.
  func interpolated(_ percent: Double) -> Double {
    let wanted = percent / 100 * Double(reduce(0) { $0 + $1.count })
    var (seen, last) = (0.0, 0.0)
    for bucket in self {
      let count = Double(bucket.count)
      if seen + count >= wanted, count > 0 {
        // Buckets are 64 ns or at most 1/128 wide; empty ones are left out.
        let start = Swift.max(last, bucket.longest - Swift.max(0.064, bucket.longest / 128))
        return start + (bucket.longest - start) * (wanted - seen) / count
      }
      (seen, last) = (seen + count, bucket.longest)
    }
    return last
  }
}
