/// A sound card whose true clock is known: it counts samples, and says at each period when that was, with
/// jitter and outliers.
public struct SoundCard {
  /// Nominal, and what the crystal is off.
  public var rate = 48_000
  public var partsPerMillion = 0.0
  /// When the first sample was heard, nanoseconds.
  public var start: Int64 = 5_000_000_000
  /// Samples between two statuses.
  public var period = 480
  /// Standard deviation of the times, seconds.
  public var jitter = 0.0
  /// How often a time is off by `outlier`, either way; seconds.
  public var outlierShare = 0.0
  public var outlier = 0.0
  /// Samples that the card has made.
  public private(set) var made: UInt64 = 0
  public var random: TestRandom

  public init(seed: UInt64 = 1) { random = TestRandom(seed: seed) }

  /// Samples per second.
  public var trueRate: Double { Double(rate) * (1 + partsPerMillion * 1e-6) }

  /// When a sample was truly heard, nanoseconds.
  public func time(of sample: UInt64) -> Int64 {
    start + Int64((Double(sample) / trueRate * 1e9).rounded())
  }

  /// Goes on by a period, or by `count` samples: the number of the first one, how many, and the time that the
  /// card gives for the one behind the last.
  public mutating func next(_ count: Int? = nil) -> (first: UInt64, count: Int, time: Int64) {
    let (first, count) = (made, count ?? period)
    made += UInt64(count)
    var off = jitter * normal()
    if outlierShare > 0, Double.random(in: 0..<1, using: &random) < outlierShare {
      off += Bool.random(using: &random) ? outlier : -outlier
    }
    return (first, count, time(of: made) + Int64((off * 1e9).rounded()))
  }

  /// Samples that nobody will hear.
  public mutating func lose(_ count: Int) { made += UInt64(count) }

  /// A normal number: the sum of twelve uniform ones.
  private mutating func normal() -> Double {
    guard jitter > 0 else { return 0 }
    var sum = -6.0
    for _ in 0..<12 { sum += Double(random.next() >> 11) * 0x1p-53 }
    return sum
  }
}
