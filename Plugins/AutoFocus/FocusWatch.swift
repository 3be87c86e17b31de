/// The values of a frame that the watch compares.
struct SceneLook: Sendable, Hashable {
  /// `nil` where nothing could be measured.
  var score: Double?
  /// Mean luma, in levels; `nil` without `meter`.
  var luma: Double?
}

/// Detects a change of scene that lasts. Pure.
///
/// The scene has changed when score or luma leave 0.75 to 1/0.75 of the known values, and then stay within
/// that range of their new values for ten frames. A change that reverts, as when somebody walks by, does
/// not count, nor does a slow one, as in a pan: the known values follow it.
struct FocusWatch: Sendable {
  /// Ratio, below 1, from which two values differ. Larger: smaller changes start a search. From Raspberry
  /// Pi's autofocus in libcamera.
  static let ratio = 0.75
  /// Frames for which the new values must last. Larger: what passes by starts fewer searches, and a new
  /// scene waits longer. From the same.
  static let patience = 10
  /// Weight of the newest frame in the known values, 0 to 1: a time constant of 2 s at 30 frames/s. Larger:
  /// faster pans are followed without a search. By trial on the scene.
  static let follow = 1.0 / 60

  /// What is added to scores that are compared, as in `FocusSearch`.
  private let floor: Double
  private var known: SceneLook?
  private var other: SceneLook?
  private var held = 0

  /// Begins with `known`, or else with the first frame.
  init(_ known: SceneLook? = nil, floor: Double = 0) {
    self.known = known
    self.floor = floor
  }

  /// True if this frame confirms a lasting change of the scene. The frame's values become the known ones.
  mutating func hasChanged(_ look: SceneLook) -> Bool {
    guard let known else {
      self.known = look
      return false
    }
    if areAlike(known, look) {
      other = nil
      self.known = SceneLook(
        score: Self.followed(known.score, look.score), luma: Self.followed(known.luma, look.luma))
      return false
    }
    if let other, areAlike(other, look) {
      held += 1
    } else {
      other = look
      held = 1
    }
    guard held >= Self.patience else { return false }
    self = FocusWatch(floor: floor)
    return true
  }

  private func areAlike(_ one: SceneLook, _ two: SceneLook) -> Bool {
    Self.areAlike(one.score.map { $0 + floor }, two.score.map { $0 + floor })
      && Self.areAlike(one.luma, two.luma)
  }

  private static func areAlike(_ one: Double?, _ two: Double?) -> Bool {
    guard let one, let two else { return one == nil && two == nil }
    return one >= ratio * two && two >= ratio * one
  }

  private static func followed(_ known: Double?, _ seen: Double?) -> Double? {
    guard let known, let seen else { return seen }
    return known + (seen - known) * follow
  }
}
