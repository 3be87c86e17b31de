import Glibc
import SprocketCore

/// The levels that certain shares of a picture's pixels do not exceed. Pure.
struct LevelShares: Sendable {
  static let shares: InlineArray<12, Double> = [
    0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97,
  ]
  /// Levels that are sure to be neither clipped nor lost in noise and steps.
  static let sound = 16.0...243.0

  /// log2 of the signal; NaN where the level is not sound.
  private var signals = InlineArray<12, Double>(repeating: .nan)

  init(_ histogram: LevelCounts) {
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

  /// The mean over shares of how much brighter this picture is, in doublings of the signal and in EV of
  /// the luminance; `nil` where fewer than two shares are sound in both, or they disagree.
  func differences(from other: LevelShares, _ curve: ToneCurve) -> (
    signals: Double, luminances: Double
  )? {
    var count = 0
    var (weights, sum, squares, luminances) = (0.0, 0.0, 0.0, 0.0)
    for index in Self.shares.indices {
      let difference = signals[index] - other.signals[index]
      guard !difference.isNaN else { continue }
      // The ends are where noise moves levels most; they count where nothing else is sound.
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
