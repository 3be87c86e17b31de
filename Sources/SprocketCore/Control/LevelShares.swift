import Glibc

/// Quantiles of a picture's luma levels, used to compare two pictures of one scene. Pure.
package struct LevelShares: Sendable {
  /// Shares of pixels at which the level is sampled. Denser at the end that is clipped first: dark or bright.
  static let shares: InlineArray<12, Double> = [
    0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97,
  ]
  /// Levels used in comparisons: above black noise and coarse steps, below clipping, as 16 to 235 in video.
  /// Wider: darker and brighter scenes can be compared, with less accuracy.
  static let sound = 16.0...243.0

  /// log2 of the signal at each share; NaN where the level is not in `sound`.
  private var signals = InlineArray<12, Double>(repeating: .nan)

  package init(_ histogram: LevelCounts) {
    var total = 0.0
    for level in 0..<256 { total += Double(histogram[level]) }
    var below = 0.0
    var level = 0
    for index in Self.shares.indices {
      let wanted = Self.shares[index] * total
      while level < 255, below + Double(histogram[level]) < wanted {
        below += Double(histogram[level])
        level += 1
      }
      let inside = histogram[level] > 0 ? (wanted - below) / Double(histogram[level]) : 0.5
      let place = Double(level) - 0.5 + inside
      if Self.sound.contains(place) { signals[index] = log2(place / 255) }
    }
  }

  /// Number of shares with a usable level, 0 to 12. Below two, nearly the whole picture is clipped or dark.
  package var soundCount: Int {
    Self.shares.indices.reduce(0) { $0 + (signals[$1].isNaN ? 0 : 1) }
  }

  /// Number of shares with a usable level in both pictures. Below two, they cannot be compared.
  package func commonCount(with other: LevelShares) -> Int {
    Self.shares.indices.reduce(0) { $0 + ((signals[$1] - other.signals[$1]).isNaN ? 0 : 1) }
  }

  /// How much brighter this picture is, as a mean over the shares: in doublings of the signal and in EV of
  /// the luminance; `nil` where fewer than two shares are sound in both, or they disagree.
  package func differences(from other: LevelShares, _ curve: ToneCurve) -> (
    signals: Double, luminances: Double
  )? {
    var count = 0
    var (weights, sum, squares, luminances) = (0.0, 0.0, 0.0, 0.0)
    for index in Self.shares.indices {
      let difference = signals[index] - other.signals[index]
      guard !difference.isNaN else { continue }
      // Noise changes the levels at both ends most, so they get small weights.
      let weight = Self.shares[index] * (1 - Self.shares[index])
      count += 1
      weights += weight
      sum += weight * difference
      squares += weight * difference * difference
      luminances +=
        weight
        * (curve.luminance(ofSignal: signals[index])
          - curve.luminance(ofSignal: other.signals[index]))
    }
    guard count >= 2 else { return nil }
    let mean = sum / weights
    let deviation = max(squares / weights - mean * mean, 0).squareRoot()
    guard deviation < 0.05 + 0.2 * abs(mean) else { return nil }
    return (mean, luminances / weights)
  }
}
