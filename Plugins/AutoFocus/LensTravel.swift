/// A lens on its way: whether what a frame shows was seen from where the lens was sent to.
///
/// Pure. A camera takes some frames until a write shows, and the lens takes its time: at `speed`, and
/// then so many frames more, for cameras that say too early that a write shows.
struct LensTravel: Sendable {
  struct Settings: Sendable, Hashable {
    /// Ways of the lens, end to end, per second; 0 where it is there at once.
    var speed = 4.0
    /// Frames to wait once the lens has arrived.
    var settle = 1
    /// Positions that count are approached from below, from at least this far, so that the play of the
    /// lens is always taken up on the same side.
    var backlash = 1.0 / 16
  }

  /// A write that does not show for so long, in nanoseconds, will not: no camera's pipeline is as deep.
  static let patience: Int64 = 2_000_000_000

  private let settings: Settings
  /// Where the lens was sent; `nil` as long as nobody knows.
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

  /// Takes the time of the next frame, and whether the write shows in it.
  mutating func progress(at time: Int64, isShown: Bool) -> Progress {
    guard isShown || arrival != nil else {
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
