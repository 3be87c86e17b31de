import SprocketCore

/// How much more a picture was exposed than another of the same scene, by their levels. Pure.
///
/// A camera's curve may not be the one that its frames declare. Two laws are tried, each with a factor that a
/// change of known size gives: EV for a doubling of the signal, right for a camera with a power law, and EV
/// for one EV of the luminance that is declared, right where the declaration is. What a picture shows is what
/// the law says that comes nearer to what is expected.
struct ToneLaw: Sendable {
  /// EV per doubling of the signal that a camera may have: gammas of 1.8 to 2.6, and room for errors. Wider:
  /// a control that does half of what is asked is more easily taken for another curve.
  static let gammas = 1.5...3.1
  /// EV per EV of declared luminance that a camera may have, also where its gamma is not in `gammas`.
  static let slopes = 0.85...1.18
  /// Assumed gamma, EV per doubling of the signal, until a change is measured. 2.2 is the middle of the range
  /// of cameras.
  static let usualGamma = 2.2

  private let curve: ToneCurve
  private var gamma = ToneLaw.usualGamma
  private var slope: Double?
  private(set) var isLearned = false

  init(_ transfer: Color.Transfer) { curve = ToneCurve(transfer) }

  /// EV by the assumed law, before it is learned; `nil` where the pictures cannot be compared.
  func rough(_ levels: LevelShares, from other: LevelShares) -> Double? {
    levels.differences(from: other, curve).map { $0.signals * Self.usualGamma }
  }

  /// EV by the law that comes nearer to `expected`; `nil` where the pictures cannot be compared.
  func change(_ levels: LevelShares, from other: LevelShares, near expected: Double) -> Double? {
    guard let found = levels.differences(from: other, curve) else { return nil }
    let one = found.signals * gamma
    guard let slope else { return one }
    let two = found.luminances * slope
    return abs(one - expected) < abs(two - expected) ? one : two
  }

  /// Learns from a change of `change` EV. Returns false if no camera has such a curve.
  mutating func learn(_ levels: LevelShares, from other: LevelShares, change: Double) -> Bool {
    guard let found = levels.differences(from: other, curve) else { return false }
    let (gamma, slope) = (change / found.signals, change / found.luminances)
    guard Self.gammas.contains(gamma) || Self.slopes.contains(slope) else { return false }
    if Self.gammas.contains(gamma) { self.gamma = gamma }
    self.slope = slope.isFinite ? slope : nil
    isLearned = true
    return true
  }
}
