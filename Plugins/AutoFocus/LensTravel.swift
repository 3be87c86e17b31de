/// Tells whether a frame was taken with the lens at its target position, given the lens's travel time. Pure.
///
/// A camera needs some frames until a write has an effect. Then the lens moves at `speed`, and `settle` more
/// frames are waited for, because some cameras report a write too early.
struct LensTravel: Sendable {
  struct Settings: Sendable, Hashable {
    /// Speed of the lens, in full ranges per second; 0 where it is there at once. Larger: shorter searches,
    /// but blurred scores where the lens is slower. 4 is a quarter of a second from end to end.
    var speed = 4.0
    /// Frames to wait once the lens has arrived. Larger: slower, safer with cameras that report too early.
    var settle = 1
    /// Play of the lens, as a fraction of its range: exact positions are approached from at least this far
    /// below, so that the play is always taken up on the same side. Larger: longer detours.
    var backlash = 1.0 / 16
  }

  /// Nanoseconds after which a write that does not show counts as lost: more than any camera's pipeline
  /// takes. Larger: a lost write stops the search for longer.
  static let patience: Int64 = 2_000_000_000

  private let settings: Settings
  /// The latest target position of the lens; `nil` before the first one.
  private(set) var position: Double?
  /// Where it last turned to go up.
  private var risesFrom: Double?
  /// Where it goes from there.
  private var beyond: Double?
  private var distance = 0.0
  private var sent: Int64?
  private var arrival: Int64?
  private var settling = 0

  init(_ settings: Settings) {
    self.settings = settings
  }

  /// Sends the lens to `target`, by way of a position below where it has to come from there. Returns
  /// where it has to be sent first.
  mutating func send(to target: Double, fromBelow: Bool = false) -> Double {
    let below = max(target - settings.backlash, 0)
    let detours = fromBelow && below < target && !rises(to: target, from: below)
    beyond = detours ? target : nil
    return depart(to: detours ? below : target)
  }

  /// Whether the lens has turned at `below`, or lower, when it goes on to `target`.
  private func rises(to target: Double, from below: Double) -> Bool {
    guard let position, target >= position else { return false }
    return (risesFrom ?? position) <= below + 1e-9
  }

  /// Sends the lens to the same place once more: the write is said to be lost. Returns the place.
  mutating func sendAgain() -> Double? {
    sent = nil
    return position
  }

  private mutating func depart(to target: Double) -> Double {
    // Where it is is not known at first: it may be at the far end.
    let here = position ?? (target < 0.5 ? 1 : 0)
    risesFrom = target < here || position == nil ? target : risesFrom ?? here
    distance = abs(target - here)
    position = target
    sent = nil
    arrival = nil
    settling = beyond == nil ? settings.settle : 0
    return target
  }

  enum Progress: Sendable, Hashable {
    case underway
    /// There, so far as is known.
    case settling
    /// Now there; send it on to this position.
    case onward(Double)
    /// This frame shows what is seen from there.
    case arrived
    /// The write does not show.
    case lost
  }

  /// Takes the time of the next frame, whether the source has answered the write, and whether it shows in the
  /// frame.
  mutating func progress(at time: Int64, isAnswered: Bool, isShown: Bool) -> Progress {
    guard isShown || arrival != nil else {
      if isAnswered { return .underway }
      if let sent { return time &- sent > Self.patience ? .lost : .underway }
      sent = time
      return .underway
    }
    if arrival == nil {
      let travel = settings.speed > 0 ? distance / settings.speed * 1e9 : 0
      arrival = time &+ Int64(min(travel, 1e15))
    }
    guard let arrival, time >= arrival else { return .underway }
    if let target = beyond {
      beyond = nil
      return .onward(depart(to: target))
    }
    guard settling == 0 else {
      settling -= 1
      return .settling
    }
    return .arrived
  }
}
