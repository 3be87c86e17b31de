import SprocketCore

/// Tells which setting a frame shows, and measures the lag for that: the frames between a setting being
/// reported in force and the picture showing it. Pure.
///
/// The scene source reports the setting that the picture shows. A V4L2 driver reports when it accepted a
/// value; the picture shows it one to four frames later, and the driver does not report that. So a change is
/// watched (`DelayWatch`) until the picture responds. Until the first response the setting that a frame shows
/// is unknown, and no other change should be requested.
///
/// Exposure and gain have a lag each. A change of both is attributed to the one that makes up most of it.
struct PictureLag: Sendable {
  /// A part of the setting.
  enum Part: Int, Sendable, CaseIterable {
    case exposure, gain
  }

  /// Smallest change that is watched, in EV. Larger: noise is mistaken for an answer less often, the lag
  /// is learned later.
  static let watched = 0.3
  /// Fraction of a change that one part makes up, so that the lag found is that part's. Larger: mixed changes
  /// are less often taken for one of them.
  static let ownShare = 0.8
  /// Settings that are kept, one per frame: more than `DelayWatch.patience` and any lag that it allows.
  static let memory = 16

  private struct Told: Sendable {
    var number: UInt64
    /// EV by part.
    var exposure: Double
    var gain: Double

    var setting: Double { exposure + gain }

    subscript(part: Part) -> Double { part == .exposure ? exposure : gain }
  }

  private struct Watch: Sendable {
    var delay: DelayWatch
    var change: Double
    /// The part that makes up most of the change; `nil` if both do.
    var part: Part?
    var before: LevelShares
  }

  /// In frames, by part; `nil` before it is known.
  private var lags: [UInt64?]
  /// By part: the lag is a setting, and no measurement replaces it.
  private let isGiven: [Bool]
  /// A lag that was measured since `takeMeasured`.
  private var measured: (part: Part, frames: Int)?
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

  /// `known`: lags of exposure and gain, as the source knows them.
  init(isTold: Bool, known: [ControlDelayTime?] = [nil, nil]) {
    self.isTold = isTold
    lags = known.map { $0.map { UInt64(clamping: $0.frames) } }
    isGiven = known.map { $0?.origin == .given }
    isKnown = isTold || known.contains { $0 != nil }
    history.reserveCapacity(Self.memory)
  }

  /// The longer of the lags that are known, in frames.
  var lag: UInt64 { lags.reduce(0) { max($0, $1 ?? 0) } }

  /// Whether a change is in force and the picture should have answered to it by now.
  private(set) var isWaiting = false

  /// Takes in a frame and the setting that the source reports in force for it, and how much of that is gain,
  /// in EV; returns the setting that its picture shows, as far as is known.
  mutating func setting(
    of number: UInt64, told setting: Double, gain: Double, _ levels: LevelShares,
    _ response: ToneResponse
  ) -> Double {
    if isTold { return setting }
    let told = Told(number: number, exposure: setting - gain, gain: gain)
    if let last = history.last, watch == nil, abs(setting - last.setting) >= Self.watched,
      unanswered > 0 || isQuiet(before: number), let before = self.levels
    {
      watch = Watch(
        delay: DelayWatch(from: number, lastFrame: last.number), change: setting - last.setting,
        part: part(of: told, since: last), before: before)
    }
    if history.count == Self.memory { history.removeFirst() }
    history.append(told)
    self.levels = levels
    isWaiting = false
    if let watch { look(watch, at: number, levels, response) }
    return shown(.exposure, at: number) + shown(.gain, at: number)
  }

  private func shown(_ part: Part, at number: UInt64) -> Double {
    // A part that was never changed by itself is taken to be as late as the other.
    let lag = lags[part.rawValue] ?? lag
    return (history.last { $0.number + lag <= number } ?? history[0])[part]
  }

  private func part(of told: Told, since last: Told) -> Part? {
    let changes = Part.allCases.map { abs(told[$0] - last[$0]) }
    let whole = changes[0] + changes[1]
    return Part.allCases.first { changes[$0.rawValue] >= Self.ownShare * whole }
  }

  /// Whether an answer could not be one to an earlier change.
  private func isQuiet(before number: UInt64) -> Bool {
    zip(history, history.dropFirst()).allSatisfy { before, after in
      after.number + DelayWatch.patience < number || abs(after.setting - before.setting) < 0.01
    }
  }

  private mutating func look(
    _ watch: Watch, at number: UInt64, _ levels: LevelShares, _ response: ToneResponse
  ) {
    let share = response.difference(of: levels, from: watch.before).map { $0 / watch.change }
    var watch = watch
    let result = watch.delay.see(share: share, at: number)
    self.watch = watch
    switch result {
    case .waiting: isWaiting = share != nil && number - watch.delay.start >= lag
    case .incomparable: self.watch = nil
    case .unanswered:
      unanswered += 1
      self.watch = nil
    case .shown(let frames, let isCertain):
      for part in Part.allCases where !isGiven[part.rawValue] {
        let isFirst = watch.part == nil && lags[part.rawValue] == nil
        if watch.part == part || isFirst { lags[part.rawValue] = UInt64(frames) }
      }
      if let part = watch.part, isCertain { measured = (part, frames) }
      isKnown = true
      unanswered = 0
      self.watch = nil
    }
  }

  /// The lag that was measured since the last call, of one part.
  mutating func takeMeasured() -> (part: Part, frames: Int)? {
    defer { measured = nil }
    return measured
  }

  /// The picture changed by itself, so it may respond to changes again.
  mutating func tryAgain() { unanswered = 0 }

  /// The measured lag may be wrong: measures it again.
  mutating func measureAgain() { isKnown = isTold }
}
