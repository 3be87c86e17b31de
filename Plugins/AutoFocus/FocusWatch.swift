/// What a frame tells of the scene.
struct SceneLook: Sendable, Hashable {
  /// `nil` where there is nothing to be measured.
  var score: Double?
  /// Mean luma, in levels; `nil` where nobody says.
  var luma: Double?
}

/// Notices that the scene has become another one, and has stayed so. Pure.
///
/// It has when score or luma have left the range of 0.75 to 1/0.75 of what they were, and have then
/// stayed within that range of something else for ten frames: the ratio and the frames of Raspberry
/// Pi's autofocus in libcamera. What comes back, as when somebody walks by, is no change; nor is what
/// goes slowly, as when the camera pans: then what was is followed, with a time constant of two
/// seconds at 30 frames a second.
struct FocusWatch: Sendable {
  static let ratio = 0.75
  static let patience = 10
  static let follow = 1.0 / 60

  /// What is added to scores that are compared, as in `FocusSearch`.
  private let floor: Double
  private var known: SceneLook?
  private var other: SceneLook?
  private var held = 0

  /// Begins with what is known; without it, with what comes first.
  init(_ known: SceneLook? = nil, floor: Double = 0) {
    self.known = known
    self.floor = floor
  }

  /// Whether the scene has changed for good with this frame; what it is then is known from there on.
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
