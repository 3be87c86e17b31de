import SprocketCore

/// How the picture answers to the setting: learned from the picture's own answers to writes. Pure.
///
/// A camera's curve may not be the one that its frames declare. Two laws are fitted. Where the
/// declaration is right up to a power, EV of setting are `slope` times EV of metered luminance: 1 where
/// it is wholly right. Where the camera is a power law, whatever is declared, they are `gamma` times
/// doublings of the signal. Each is learned from how far the levels of two frames of different settings
/// lie apart, at shares of the pixels that are neither clipped nor lost in either.
struct ToneResponse: Sendable {
  /// Smallest change of setting that says something of the response, in EV.
  static let least = 0.25
  /// Frames that are looked back for one.
  static let memory = 16

  /// The low end of what cameras have: what is taken before anything is known.
  static let leastSlope = 0.8
  static let leastGamma = 1.8
  /// How much longer the step is from a picture that shows nothing but white, in EV.
  static let beyondClipping = 0.25
  /// By what share of itself the step is shorter from one that is all dark.
  static let darkDoubt = 0.8

  /// EV of setting per EV of luminance.
  private(set) var slope = ToneResponse.leastSlope
  /// EV of setting per doubling of the signal.
  private(set) var gamma = ToneResponse.leastGamma
  private(set) var isLearned = false
  /// By how much each law foretold wrongly of late, relative to the change of setting.
  private var misfits: (slope: Double, gamma: Double)?
  private let curve: ToneCurve
  private var recent: [(setting: Double, levels: LevelShares)] = []

  init(_ curve: ToneCurve) {
    self.curve = curve
    recent.reserveCapacity(Self.memory)
  }

  /// EV of setting that bring a frame's offset to `target`, by the law that has it nearer.
  ///
  /// `clipped` is the share of pixels that are, and brighter than they look. Of a frame that shows
  /// nothing else the step is a little longer than it looks, and as long as for any camera.
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
    return step > 0 ? step * (1 - Self.darkDoubt * darkShare(histogram)) : step
  }

  /// The share of pixels below level 6. Noise makes more of them seem black than are, so that more
  /// light raises them further than the laws say.
  private func darkShare(_ histogram: LevelCounts) -> Double {
    var (dark, total) = (0.0, 0.0)
    for level in 0..<256 {
      total += Double(histogram[level])
      if level < 6 { dark += Double(histogram[level]) }
    }
    return total > 0 ? dark / total : 0
  }

  /// Both laws' answers, by how well each foretold since the light changed; the smaller one while that
  /// is not known.
  private func choose(_ bySlope: Double, _ byGamma: Double) -> Double {
    guard let misfits else { return abs(bySlope) < abs(byGamma) ? bySlope : byGamma }
    let share = (misfits.slope + 0.002) / (misfits.slope + misfits.gamma + 0.004)
    return bySlope + (byGamma - bySlope) * share
  }

  /// Where a function that does not decrease and is 0 at 0 has a value, to 1/1000; within 12 each way.
  /// Regula falsi, of an end that stays the value is halved (the Illinois algorithm).
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

  /// By how many EV of setting one picture is brighter than another of the same things, by the law
  /// that has it nearer; `nil` where they do not show the same things, or all is lost.
  func difference(of levels: LevelShares, from other: LevelShares) -> Double? {
    guard let (signals, luminances) = levels.differences(from: other, curve) else { return nil }
    return choose(slope * luminances, gamma * signals)
  }

  /// The light has changed: frames before this have nothing to say of the response.
  mutating func forget() {
    recent.removeAll(keepingCapacity: true)
    misfits = nil
  }

  /// Takes in what a frame of a setting looks like. A small change of setting says less than a large
  /// one, and counts for less.
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
    // Beyond these bounds the light has changed meanwhile, too.
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
