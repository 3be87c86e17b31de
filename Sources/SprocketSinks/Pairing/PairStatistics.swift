/// How the frames of two sources were paired.
public struct PairStatistics: Sendable {
  /// Names of both sources.
  public let sources: [String]
  public internal(set) var pairs: UInt64 = 0
  /// Frames of each source without a partner.
  public internal(set) var alone: [UInt64] = [0, 0]
  /// The least time between frames of both sources that were too far apart to be a pair, microseconds; `nil`
  /// where there are none.
  public internal(set) var nearest: Double?
  /// Time of the second source's frame less that of the first's, microseconds; 0 without pairs.
  public private(set) var least = 0.0
  public private(set) var most = 0.0
  private var sum = 0.0
  /// Pairs by offset: equal parts of the tolerance, from its negative to its positive end.
  private var counts: [UInt64]
  /// Microseconds.
  private let tolerance: Double

  /// Parts of the whole range of offsets. Larger: finer quantiles, 8 bytes each; with a tolerance of 5 ms a
  /// part is 2.4 us.
  private static let parts = 4096

  init(_ sources: [String], tolerance: Int64) {
    self.sources = sources
    self.tolerance = max(Double(tolerance) / 1000, 0.001)
    counts = Array(repeating: 0, count: Self.parts)
  }

  mutating func addPair(nanoseconds offset: Int64) {
    let value = Double(offset) / 1000
    (least, most) = pairs == 0 ? (value, value) : (min(least, value), max(most, value))
    pairs += 1
    sum += value
    let part = (value / tolerance + 1) / 2 * Double(Self.parts)
    counts[min(max(Int(part), 0), Self.parts - 1)] += 1
  }

  /// Mean offset, microseconds.
  public var mean: Double { pairs > 0 ? sum / Double(pairs) : 0 }

  /// The offset, in microseconds, that a share of the pairs does not exceed: 0.5 is the median. Exact to
  /// half a part of 1/2048 of the tolerance.
  public func quantile(_ share: Double) -> Double {
    let wanted = max(1, UInt64((share * Double(pairs)).rounded(.up)))
    var passed: UInt64 = 0
    for (index, count) in counts.enumerated() {
      passed += count
      if passed >= wanted {
        let middle = (2 * (Double(index) + 0.5) / Double(Self.parts) - 1) * tolerance
        return min(max(middle, least), most)
      }
    }
    return most
  }
}
