import SprocketCore

/// Finds by how many frames the picture follows what the source says is in force. Pure.
///
/// A scene says what it shows. A V4L2 driver says when it took a value: the sensor shows it one to four
/// frames later, and nobody tells. So the first change that is told of is watched until the picture
/// answers; meanwhile what a frame's setting was is not known, and nothing should be asked for.
struct PictureLag: Sendable {
  /// Smallest change that is watched, in EV.
  static let watched = 0.3
  /// The share of a change that is its answer, and the one that is the first sign of it.
  static let answer = 0.4
  static let sign = 0.15
  /// How long to wait for one, in frames.
  static let patience: UInt64 = 8
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
  /// Whether the picture has answered a change so far, or needs not be asked.
  private(set) var isKnown: Bool
  /// Whether what the source says is what the picture shows: then nothing is watched.
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

  /// Takes in a frame, of which the source says that `setting` was in force; returns the setting that
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
      // Nothing to be seen, much noise, or another scene: that is no reason to wait.
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

  /// The picture changed without being asked to: it may answer again.
  mutating func hope() { unanswered = 0 }

  /// What was found may be wrong: it is looked for anew.
  mutating func doubt() { isKnown = isTold }
}
