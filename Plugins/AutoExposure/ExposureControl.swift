import SprocketCore

/// Decides the next exposure from what a frame measured and the setting it was taken with. Pure: time is
/// the frame's running number.
///
/// All values are in EV: the *setting* of a frame is log2 of exposure in microseconds times gain; `offset`
/// is how much brighter than its target the meter found it. Each frame alone gives the setting that it
/// should have had, computed from the setting that was in force for it. Nothing is summed up from frame to
/// frame, so a write that takes effect late cannot make the loop overshoot.
///
/// Constants without another source were found by trial on the simulated sensor of the tests (gammas of 1.8
/// to 2.6, delays of 1 to 4 frames, noise).
struct ExposureControl: Sendable {
  /// One frame's measurements, and the setting it was taken with.
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
    /// How much of that is gain, in EV.
    var gain = 0.0
  }

  enum State: Sendable, Hashable {
    /// On the way to a new setting.
    case adjusting
    case converged
    /// The right setting is outside `range`.
    case limited
    /// Several changes came into force and the picture did not change.
    case unanswered
  }

  /// Error up to which the setting counts as right, in EV. Larger: less exact, fewer writes.
  static let arrived = 0.04
  /// Smoothed error from which a converged control adjusts again, in EV. Larger: noise causes fewer
  /// writes, slow changes of light are followed later.
  static let departed = 0.12
  /// Error from which it adjusts again at once, without smoothing, in EV. Larger: steps of light wait for
  /// the smoothing.
  static let jump = 0.5
  /// Largest first change after a jump, in EV, until a second frame confirms it. Larger: quicker, and a
  /// flash of one frame disturbs more.
  static let firstStep = 1.0
  /// Weight of the newest frame in the smoothed error, 0 to 1. Larger: quicker, noisier.
  static let smoothing = 0.2
  /// Minimum further change worth writing, as a fraction of the change still in flight. Larger: fewer
  /// writes on the way.
  static let leastFurtherShare = 0.1
  /// Minimum further change worth writing while another is in flight, in EV. Larger: fewer writes on the
  /// way.
  static let leastFurther = 0.1
  /// Error that is risked where it is not known what a frame shows, in EV. Larger: fewer frames are waited
  /// for, and steps overshoot by as much.
  static let slack = 0.1
  /// Fraction taken off the part of a step above 1 EV: large errors are measured less accurately. Larger:
  /// less overshoot, more steps.
  static let caution = 0.05
  /// Fraction for steps up, from dark pictures, where noise raises the levels. Larger: less overshoot, more
  /// steps.
  static let darkCaution = 0.1
  /// Changes to and fro on the way to a setting from which the measured lags are doubted. Larger: a wrong lag
  /// swings longer, noise is mistaken for it less often.
  static let mostTurns = 4
  /// Frames after which a write that is not in force yet is given up. Larger: a lost write holds the loop
  /// up longer.
  static let patience: UInt64 = 24
  /// Changes in a row without an answer, after which it stops changing. Larger: a picture that cannot
  /// answer is disturbed more often.
  static let attempts = 3

  /// Settings that the source can take, in EV.
  var range: ClosedRange<Double>
  /// The offset to reach, in EV.
  var bias = 0.0
  /// The most that the setting changes from one frame to the next, in EV.
  var speed = 1.5

  private(set) var state = State.adjusting
  private(set) var response: ToneResponse
  private(set) var lag: PictureLag
  /// The right setting minus the one last asked for, in EV.
  private(set) var error = 0.0
  /// The settings that the newest frame may show, in EV.
  private(set) var shown = 0.0...0.0
  private var asked: (setting: Double, number: UInt64)?
  private var smoothed = 0.0
  private var errorBefore = 0.0
  /// Error that remains at the source's nearest value, in EV: no smaller one can be reached.
  private var coarseness = 0.0
  /// The error for which it asked last: its sign is the direction.
  private var direction = 0.0
  /// Changes of direction since it began to adjust.
  private var turns = 0
  /// Luma levels of the latest converged frame, and the step that it still asked for.
  private var reference: (levels: LevelShares, step: Double)?
  private var restingOffset = 0.0

  /// `isTold`: the source reports with each frame the setting that its picture shows. `known`: the lags of
  /// exposure and gain, as far as they are known.
  init(
    range: ClosedRange<Double>, curve: ToneCurve, isTold: Bool,
    known: [ControlDelayTime?] = [nil, nil]
  ) {
    self.range = range
    lag = PictureLag(isTold: isTold, known: known)
    response = ToneResponse(curve)
  }

  /// The setting to request, or `nil` to leave the current one. The caller then calls `didAsk` or
  /// `alreadyAtNearest`.
  mutating func next(_ reading: Reading) -> Double? {
    let levels = LevelShares(reading.histogram)
    shown = lag.settings(
      of: reading.number, told: reading.setting, gain: reading.gain, levels, response)
    let isSure = unsure < 0.01
    if isSure { response.learn(levels, setting: shown.lowerBound) }
    let step = step(reading, levels)
    let excess = max(abs(step) - 1, 0)
    let change = step < 0 ? step + Self.caution * excess : step - Self.darkCaution * excess
    if let asked, reading.number - asked.number > Self.patience { self.asked = nil }
    let current = asked?.setting ?? reading.setting
    // The smallest change that is right for what the frame may show, but for `slack`.
    let slack = min(Self.slack, unsure / 2)
    let right = min(
      max(current, shown.lowerBound + slack + change), shown.upperBound - slack + change)
    let wanted = min(max(right, range.lowerBound), range.upperBound)
    let isInForce = isSure && abs(shown.lowerBound - current) < 0.01
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
    if abs(error) <= Self.arrived {
      if isInForce { settle(as: wanted == right ? .converged : .limited) }
      return nil
    }
    // Where the last change had no answer, one at a time.
    if !isInForce, lag.unanswered > 0 { return nil }
    // The error is measured better after the change in flight has arrived than corrected now by a small step.
    let flying = max(abs(current - shown.lowerBound), abs(current - shown.upperBound))
    let least = max(Self.leastFurther, Self.leastFurtherShare * flying)
    if flying > Self.leastFurther, abs(error) < least { return nil }
    let most = isFirst ? min(speed, Self.firstStep) : speed
    let size = min(abs(error), most)
    return min(max(current + (error < 0 ? -size : size), range.lowerBound), range.upperBound)
  }

  /// How far apart they are.
  var unsure: Double { shown.upperBound - shown.lowerBound }

  /// The lag of a part that was measured since the last call.
  mutating func takeMeasuredLag() -> (part: PictureLag.Part, frames: ClosedRange<Int>)? {
    lag.takeMeasured()
  }

  /// `setting`, the supported value nearest to what `next` returned, was requested at that frame.
  mutating func didAsk(_ setting: Double, at number: UInt64) {
    asked = (setting, number)
    countTurns()
    coarseness = 0
    smoothed = 0
  }

  /// With a wrong lag the loop would swing for ever: after many turns the lags are measured again.
  private mutating func countTurns() {
    if error * direction < 0 { turns += 1 }
    direction = error
    guard turns > Self.mostTurns else { return }
    turns = 0
    lag.forget()
  }

  /// The supported value nearest to what `next` returned is already in force.
  mutating func alreadyAtNearest() {
    coarseness = abs(error)
    settle(as: .converged)
  }

  /// Adjusts again, until the setting is right.
  mutating func begin() {
    if state != .unanswered { state = .adjusting }
  }

  private mutating func settle(as state: State) {
    self.state = state
    smoothed = error
    turns = 0
  }

  /// Whether a converged control has to adjust again.
  private var departs: Bool {
    let limit = coarseness + Self.departed
    return abs(error) > coarseness + Self.jump || (abs(smoothed) > limit && abs(error) > limit)
  }

  /// True while nothing is changed because the picture does not respond. Changes resume when the picture has
  /// changed by itself.
  private mutating func rests(_ reading: Reading) -> Bool {
    if state == .unanswered, abs(reading.offset - restingOffset) > Self.jump {
      state = .adjusting
      lag.tryAgain()
    } else if state != .unanswered, lag.unanswered >= Self.attempts {
      state = .unanswered
      restingOffset = reading.offset
    }
    return state == .unanswered
  }

  /// The change of setting that a reading asks for, in EV. Clipped pixels make a frame seem nearer its
  /// target than it is; where it shows the same scene as the latest converged frame, the levels of both
  /// tell the step better.
  private func step(_ reading: Reading, _ levels: LevelShares) -> Double {
    let step = response.step(
      reading.histogram, from: reading.offset, to: bias, clipped: reading.clipped)
    guard step < -0.3, reading.clipped > 0.1, let reference,
      let difference = response.difference(of: levels, from: reference.levels)
    else { return step }
    return min(step, reference.step - difference)
  }
}
