import SprocketCore

/// Measures the lag: the frames between a setting being reported in force and the picture showing it. Pure.
///
/// The scene source reports the setting that the picture shows. A V4L2 driver reports when it accepted a
/// value; the picture shows it one to four frames later, and the driver does not report that. So the first
/// change is watched until the picture responds. Until then the setting that a frame shows is unknown, and no
/// other change should be requested.
///
/// The constants were found by trial on the simulated sensor of the tests.
struct PictureLag: Sendable {
  /// Smallest change that is watched, in EV. Larger: noise is mistaken for an answer less often, the lag
  /// is learned later.
  static let watched = 0.3
  /// Part of a change that the picture must show to have answered it, 0 to 1. Larger: dark or clipped
  /// scenes count as unanswered more often.
  static let answer = 0.4
  /// Part of a change that marks the first frame of its answer, 0 to 1. Larger: the lag may be found a
  /// frame too long; smaller: noise may end it too early.
  static let sign = 0.15
  /// Frames to wait for an answer: twice the longest lag of common sensors. Larger: a picture that does
  /// not answer is noticed later.
  static let patience: UInt64 = 8
  /// Settings that are kept, one per frame: more than `patience` and any lag that it allows.
  static let memory = 16

  private struct Told: Sendable {
    var number: UInt64
    var setting: Double
  }

  private struct Watch: Sendable {
    var told: Told
    var change: Double
    var before: LevelShares
    /// The first frame that showed something of the change.
    var first: UInt64?
  }

  /// In frames.
  private(set) var lag: UInt64 = 0
  /// True if the lag is known: the picture has responded to a change, or the source reports the setting that
  /// is shown.
  private(set) var isKnown: Bool
  /// True if the source reports the setting that the picture shows. Then no change is watched.
  private let isTold: Bool
  /// Changes in a row that the picture did not answer.
  private(set) var unanswered = 0
  private var watch: Watch?
  private var history: [Told] = []
  private var levels: LevelShares?

  init(isTold: Bool) {
    self.isTold = isTold
    isKnown = isTold
    history.reserveCapacity(Self.memory)
  }

  /// Whether a change is in force and the picture should have answered to it by now.
  private(set) var isWaiting = false

  /// Takes in a frame and the setting that the source reports in force for it; returns the setting that
  /// its picture shows, as far as is known.
  mutating func setting(
    of number: UInt64, told setting: Double, _ levels: LevelShares, _ response: ToneResponse
  ) -> Double {
    if isTold { return setting }
    if let last = history.last, watch == nil, abs(setting - last.setting) >= Self.watched,
      unanswered > 0 || isQuiet(before: number), let before = self.levels
    {
      watch = Watch(
        told: Told(number: number, setting: setting), change: setting - last.setting,
        before: before)
    }
    if history.count == Self.memory { history.removeFirst() }
    history.append(Told(number: number, setting: setting))
    self.levels = levels
    isWaiting = false
    if let watch { look(watch, at: number, levels, response) }
    let shown = history.last { $0.number + lag <= number }
    return shown?.setting ?? history[0].setting
  }

  /// Whether an answer could not be one to an earlier change.
  private func isQuiet(before number: UInt64) -> Bool {
    zip(history, history.dropFirst()).allSatisfy { before, after in
      after.number + Self.patience < number || abs(after.setting - before.setting) < 0.01
    }
  }

  private mutating func look(
    _ watch: Watch, at number: UInt64, _ levels: LevelShares, _ response: ToneResponse
  ) {
    let waited = number - watch.told.number
    guard let difference = response.difference(of: levels, from: watch.before) else {
      // The two pictures cannot be compared: too dark, too noisy, or different scenes.
      if waited >= Self.patience { self.watch = nil }
      return
    }
    let share = difference / watch.change
    // In the dark an answer may seem smaller than it is; the first sign of it is when it came.
    if share >= Self.sign, watch.first == nil { self.watch?.first = waited }
    if share >= Self.answer {
      lag = watch.first ?? waited
      isKnown = true
      unanswered = 0
      self.watch = nil
    } else if waited >= Self.patience {
      unanswered += 1
      self.watch = nil
    } else {
      isWaiting = waited >= lag
    }
  }

  /// The picture changed by itself, so it may respond to changes again.
  mutating func tryAgain() { unanswered = 0 }

  /// The measured lag may be wrong: measures it again.
  mutating func measureAgain() { isKnown = isTold }
}
