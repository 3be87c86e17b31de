import SprocketCore

/// How much the picture changes with the setting, learned from the changes that were made. Pure.
///
/// A camera's curve may not be the one that its frames declare. Two laws are fitted. Where the declared
/// curve is right up to a power, EV of setting are `slope` times EV of metered luminance: 1 where it is
/// exactly right. Where the camera follows a power law, whatever is declared, EV of setting are `gamma`
/// times doublings of the signal. Both are learned from the levels (`LevelShares`) of two frames of
/// different settings.
///
/// Constants without another source were found by trial on the simulated sensor of the tests.
struct ToneResponse: Sendable {
  /// Smallest change of setting that is learned from, in EV. Larger: noise disturbs less, less is learned.
  static let least = 0.25
  /// Earlier frames that are searched for such a change. Larger: slow changes are learned from, too, and
  /// more of a changing scene is mistaken for the camera's answer.
  static let memory = 16

  /// `slope` and `gamma` before anything is learned: the low end of what cameras have (gammas of 1.8 to
  /// 2.6). Larger: longer first steps, which may overshoot.
  static let leastSlope = 0.8
  /// See `leastSlope`.
  static let leastGamma = 1.8
  /// Added to the step down if more than half of the pixels are clipped, in EV, times their share: how far
  /// they are above white is unknown. Larger: fewer steps from an overexposed scene, more overshoot.
  static let beyondClipping = 0.25
  /// Fraction taken off the step up from a picture that is all dark, where noise hides the signal.
  /// Larger: less overshoot from the dark, more steps.
  static let darkCaution = 0.8

  /// EV of setting per EV of luminance.
  private(set) var slope = ToneResponse.leastSlope
  /// EV of setting per doubling of the signal.
  private(set) var gamma = ToneResponse.leastGamma
  private(set) var isLearned = false
  /// Mean error of each law's recent predictions, relative to the change of setting.
  private var misfits: (slope: Double, gamma: Double)?
  private let curve: ToneCurve
  private var recent: [(setting: Double, levels: LevelShares)] = []

  init(_ curve: ToneCurve) {
    self.curve = curve
    recent.reserveCapacity(Self.memory)
  }

  /// EV of setting that bring a frame's offset to `target`, by the law that predicts better.
  ///
  /// `clipped` is the share of pixels that are clipped: they are brighter than they look. Where most are,
  /// the step is `beyondClipping` longer, and no shorter than by `leastSlope` and `leastGamma`.
  func step(_ histogram: LevelCounts, from offset: Double, to target: Double, clipped: Double)
    -> Double
  {
    let wanted = target - offset
    let isLost = wanted < 0 && clipped > 0.5
    let slope = isLost ? max(slope, Self.leastSlope) : slope
    let gamma = isLost ? max(gamma, Self.leastGamma) : gamma
    let one = slope * solve(wanted) { curve.change(of: histogram, luminanceDoublings: $0) }
    let other = gamma * solve(wanted) { curve.change(of: histogram, doublings: $0) }
    let step = choose(one, other)
    if isLost { return step - Self.beyondClipping * clipped }
    return step > 0 ? step * (1 - Self.darkCaution * darkShare(histogram)) : step
  }

  /// The share of pixels below level 6. Noise is clipped at black there, so that more light raises these
  /// pixels further than the laws say.
  private func darkShare(_ histogram: LevelCounts) -> Double {
    var (dark, total) = (0.0, 0.0)
    for level in 0..<256 {
      total += Double(histogram[level])
      if level < 6 { dark += Double(histogram[level]) }
    }
    return total > 0 ? dark / total : 0
  }

  /// Mean of both laws' answers, weighted by how well each has predicted since the light changed; the
  /// smaller answer while that is unknown.
  private func choose(_ bySlope: Double, _ byGamma: Double) -> Double {
    guard let misfits else { return abs(bySlope) < abs(byGamma) ? bySlope : byGamma }
    let share = (misfits.slope + 0.002) / (misfits.slope + misfits.gamma + 0.004)
    return bySlope + (byGamma - bySlope) * share
  }

  /// The argument within -12...12 at which a function that is 0 at 0 and never decreases has `value`, to
  /// 0.001. Regula falsi; the value of an end that stays is halved (the Illinois algorithm).
  @inline(__always)
  private func solve(_ value: Double, _ function: (Double) -> Double) -> Double {
    let bound = value < 0 ? -12.0 : 12
    var (near, far) = (0.0, bound)
    var (nearMiss, farMiss) = (-value, function(bound) - value)
    guard nearMiss * farMiss < 0 else { return nearMiss == 0 ? 0 : bound }
    var middle = 0.0
    for _ in 0..<40 {
      middle = near - nearMiss * (far - near) / (farMiss - nearMiss)
      let miss = function(middle) - value
      if abs(miss) < 0.001 { break }
      if miss * farMiss < 0 {
        (near, nearMiss) = (far, farMiss)
      } else {
        nearMiss /= 2
      }
      (far, farMiss) = (middle, miss)
    }
    return middle
  }

  /// EV of setting by which one picture is brighter than another of the same scene, by the law that
  /// predicts better; `nil` where they show different scenes, or no level can be compared.
  func difference(of levels: LevelShares, from other: LevelShares) -> Double? {
    guard let (signals, luminances) = levels.differences(from: other, curve) else { return nil }
    return choose(slope * luminances, gamma * signals)
  }

  /// Call when the light has changed: frames before that cannot be compared with later ones.
  mutating func forget() {
    recent.removeAll(keepingCapacity: true)
    misfits = nil
  }

  /// Learns from a frame and its setting. A change below 1 EV counts by its size.
  mutating func learn(_ levels: LevelShares, setting: Double) {
    if let last = recent.last, abs(last.setting - setting) > 0.01 { compare(levels, setting) }
    if recent.count == Self.memory { recent.removeFirst() }
    recent.append((setting, levels))
  }

  private mutating func compare(_ levels: LevelShares, _ setting: Double) {
    var change = 0.0
    var found: (signals: Double, luminances: Double)?
    for frame in recent where abs(setting - frame.setting) > max(abs(change), Self.least) {
      guard let differences = levels.differences(from: frame.levels, curve) else { continue }
      change = setting - frame.setting
      found = differences
    }
    // No camera has such a gamma: the light has changed meanwhile, too.
    guard let found, (1.2...3.6).contains(change / found.signals),
      (change / found.luminances).isFinite
    else { return }
    let share = min(abs(change), 1)
    if isLearned, abs(change) > 0.9 {
      let (one, other) = (slope * found.luminances / change, gamma * found.signals / change)
      let before = misfits ?? (abs(one - 1), abs(other - 1))
      misfits = ((before.slope + abs(one - 1)) / 2, (before.gamma + abs(other - 1)) / 2)
    }
    gamma += (change / found.signals - gamma) * share
    slope += (change / found.luminances - slope) * share
    isLearned = true
  }
}
