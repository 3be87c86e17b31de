/// How much a picture's mean level and focus score vary from frame to frame while nothing is changed. Pure.
struct SignalNoise: Sendable {
  /// Times the largest variation that is a change. Larger: slight changes are missed, noise is taken for a
  /// change less often.
  static let factor = 4.0
  /// Smallest change of the mean that counts, in levels. Larger: as for `factor`.
  static let leastMean = 0.5
  /// Smallest change of a focus score that counts, as a fraction of it. Larger: as for `factor`.
  static let leastScore = 0.05
  /// Frames whose variations are remembered. Larger: rare disturbances count for longer.
  static let memory = 16

  private var means: [Double] = []
  private var scores: [Double] = []
  private var last: (mean: Double?, score: Double?)

  init() {
    means.reserveCapacity(Self.memory)
    scores.reserveCapacity(Self.memory)
  }

  mutating func see(_ mean: Double?, _ score: Double?) {
    if let mean, let before = last.mean { Self.add(abs(mean - before), &means) }
    if let score, let before = last.score { Self.add(abs(score - before), &scores) }
    last = (mean, score)
  }

  /// The next frame is not to be compared with the last.
  mutating func pause() { last = (nil, nil) }

  private static func add(_ difference: Double, _ list: inout [Double]) {
    if list.count == memory { list.removeFirst() }
    list.append(difference)
  }

  /// A large variation, but not the largest: that may have been a change.
  private static func usual(_ list: [Double]) -> Double {
    var (largest, second) = (0.0, 0.0)
    for value in list {
      if value > largest {
        (largest, second) = (value, largest)
      } else if value > second {
        second = value
      }
    }
    return second
  }

  /// Whether the mean or the score differs from the one of before by more than noise.
  func isChange(
    _ mean: Double?, since meanBefore: Double?, _ score: Double?, since scoreBefore: Double?
  ) -> Bool {
    if let mean, let meanBefore,
      abs(mean - meanBefore) > max(Self.usual(means) * Self.factor, Self.leastMean)
    {
      return true
    }
    guard let score, let scoreBefore else { return false }
    return abs(score - scoreBefore)
      > max(Self.usual(scores) * Self.factor, Self.leastScore * scoreBefore)
  }

  /// Whether a score is as the one of the frame before, within noise.
  func isSteady(_ score: Double?, _ before: Double?) -> Bool {
    guard let score, let before else { return true }
    return abs(score - before) <= max(Self.usual(scores) * Self.factor, Self.leastScore * before)
  }
}
