import SprocketCore

/// Decides the next exposure: what a frame measured and was taken with in, what to ask for out. Pure;
/// time is the frame's running number.
///
/// All is in EV: the *setting* of a frame is log2 of exposure in microseconds times gain, `offset` is by
/// how much the meter found it brighter than its target. Each frame gives a whole answer, the setting
/// that it should have had, from the setting that was in force for it: what is still on its way to the
/// sensor winds nothing up, however long it takes.
struct ExposureControl: Sendable {
  /// What one frame says.
  struct Reading: Sendable {
    /// Running number.
    var number: UInt64
    /// EV above the meter's target.
    var offset: Double
    /// Share of pixels that are clipped, 0 to 1.
    var clipped: Double
    var histogram: LevelCounts
    /// The setting in force, as the source says.
    var setting: Double
  }

  enum State: Sendable, Hashable {
    /// On the way to a new setting.
    case adjusting
    case converged
    /// The setting cannot go where the light asks for.
    case limited
    /// What was asked for came into force, several times, and the picture stayed as it was.
    case unanswered
  }

  /// Within this of the right setting it is done, in EV.
  static let arrived = 0.04
  /// Beyond this, seen through `smoothing`, it sets out again.
  static let departed = 0.12
  /// Beyond this it sets out at once.
  static let jump = 0.5
  /// By no more than this, in EV, until a second frame says the same: it may have been a flash.
  static let firstStep = 1.0
  /// A frame's share of the smoothed error.
  static let smoothing = 0.2
  /// Of what is on its way, the share that more than that much has to be added to be worth a write.
  static let worthwhile = 0.2
  /// By what share of itself, beyond the first EV, a step falls short: what is far is known less well.
  static let doubt = 0.05
  /// The least change while it is not known whether the picture answers, in EV: one that is watched, and
  /// a driver's coarse steps.
  static let probe = PictureLag.watched + 0.1
  /// Frames for which a change is left alone while the picture's lag is not known: as many as it is
  /// watched for, and the source's own delay.
  static let alone = PictureLag.patience + 4
  /// Changes of the error's sign on one way that are no search any more.
  static let mostTurns = 6
  /// Frames after which what was asked for is in force, or never will be.
  static let patience: UInt64 = 24
  /// Changes without an answer, one after the other, until it rests.
  static let attempts = 3

  /// Settings that can be had, in EV.
  var range: ClosedRange<Double>
  /// What the offset shall be, in EV.
  var bias = 0.0
  /// The most that the setting changes from one frame to the next, in EV.
  var speed = 1.5

  private(set) var state = State.adjusting
  private(set) var response: ToneResponse
  private(set) var lag: PictureLag
  /// By how much the setting that was last asked for is below the right one, in EV.
  private(set) var error = 0.0
  private var asked: (setting: Double, number: UInt64)?
  private var smoothed = 0.0
  private var errorBefore = 0.0
  /// Below this the source cannot get it, in EV.
  private var coarseness = 0.0
  /// Changes of the error's sign since it set out.
  private var turns = 0
  /// A frame that was right, and by how much its setting was not.
  private var reference: (levels: LevelShares, step: Double)?
  private var restingOffset = 0.0

  /// `isTold`: whether the setting of a reading is the one that its picture shows.
  init(range: ClosedRange<Double>, curve: ToneCurve, isTold: Bool) {
    self.range = range
    lag = PictureLag(isTold: isTold)
    response = ToneResponse(curve)
  }

  /// The setting to ask for, or `nil` to leave it. Then either `didAsk` or `cannotHave` has to follow.
  mutating func next(_ reading: Reading) -> Double? {
    let levels = LevelShares(reading.histogram)
    let shown = lag.setting(of: reading.number, told: reading.setting, levels, response)
    if lag.isWaiting { return nil }
    response.learn(levels, setting: shown)
    let step = step(reading, levels)
    let right = shown + step - Self.doubt * max(abs(step) - 1, 0) * (step < 0 ? -1 : 1)
    let wanted = min(max(right, range.lowerBound), range.upperBound)
    if let asked, reading.number - asked.number > Self.patience { self.asked = nil }
    let current = asked?.setting ?? reading.setting
    let isInForce = abs(shown - current) < 0.01
    error = wanted - current
    smoothed += (error - smoothed) * Self.smoothing
    defer { errorBefore = error }
    if rests(reading) { return nil }
    let isFirst = state != .adjusting && abs(errorBefore) < Self.jump
    if state != .adjusting {
      guard departs else {
        if state == .converged { reference = (levels, step) }
        return nil
      }
      state = .adjusting
      response.forget()
    }
    countTurns()
    if abs(error) <= (lag.isKnown ? Self.arrived : Self.probe / 2) {
      if isInForce { settle(as: wanted == right ? .converged : .limited) }
      return nil
    }
    // One change at a time, until an answer has been seen.
    if !lag.isKnown, let asked, reading.number - asked.number <= Self.alone { return nil }
    // Where the last change had no answer, one at a time.
    if !isInForce, lag.unanswered > 0 { return nil }
    // What is on its way will say more than a little now.
    let least = max(0.15, Self.worthwhile * abs(current - shown))
    if !isInForce, abs(error) < least { return nil }
    let most = isFirst ? min(speed, Self.firstStep) : speed
    // And one that must have an answer: many small ones would lead a picture that answers to nothing to
    // the end of the range.
    let smallest = lag.isKnown ? 0 : Self.probe
    let size = max(min(abs(error), most), smallest)
    return min(max(current + (error < 0 ? -size : size), range.lowerBound), range.upperBound)
  }

  /// A camera whose lag was mistaken is led to and fro for ever: that is looked for anew.
  private mutating func countTurns() {
    turns = error * errorBefore < 0 ? turns + 1 : turns
    guard turns > Self.mostTurns else { return }
    turns = 0
    lag.doubt()
  }

  /// What the source can have of the setting that `next` gave was asked for at the frame of that number.
  mutating func didAsk(_ setting: Double, at number: UInt64) {
    asked = (setting, number)
    coarseness = 0
    smoothed = 0
  }

  /// What the source can have of the setting that `next` gave is what it has.
  mutating func cannotHave() {
    coarseness = abs(error)
    settle(as: .converged)
  }

  private mutating func settle(as state: State) {
    self.state = state
    smoothed = error
    turns = 0
  }

  private var departs: Bool {
    let limit = coarseness + Self.departed
    return abs(error) > coarseness + Self.jump || (abs(smoothed) > limit && abs(error) > limit)
  }

  /// Whether the picture does not answer; it is tried again when it has changed by itself.
  private mutating func rests(_ reading: Reading) -> Bool {
    if state == .unanswered, abs(reading.offset - restingOffset) > Self.jump {
      state = .adjusting
      lag.hope()
    } else if state != .unanswered, lag.unanswered >= Self.attempts {
      state = .unanswered
      restingOffset = reading.offset
    }
    return state == .unanswered
  }

  /// By how much the reading's setting is to change. Clipped pixels make a frame seem nearer its target
  /// than it is; where it shows the same things as one that was right, their levels say more.
  private func step(_ reading: Reading, _ levels: LevelShares) -> Double {
    let step = response.step(
      reading.histogram, from: reading.offset, to: bias, clipped: reading.clipped)
    guard step < -0.3, reading.clipped > 0.1, let reference,
      let difference = response.difference(of: levels, from: reference.levels)
    else { return step }
    return min(step, reference.step - difference)
  }
}
