import SprocketCore

/// Tells which settings a frame may show, and measures the lags of exposure and gain for that: the frames
/// between a value being reported in force and the picture showing it. Pure.
///
/// The scene source reports the setting that the picture shows. A V4L2 driver reports when it accepted a
/// value; the picture shows it one to four frames later, and the driver does not report that. Exposure and
/// gain may have different lags.
///
/// Each pair of lags predicts by how much each frame is brighter than the one before. Pairs whose predictions
/// fit the pictures clearly worse than the best pair's are ruled out. A frame may show what any other pair
/// says: while both lags are unknown, anything that was in force in the latest frames. "The picture does not
/// answer" is one more prediction.
///
/// Constants without another source were found by trial on the simulated sensor of the tests.
struct PictureLag: Sendable {
  /// A part of the setting.
  enum Part: Int, Sendable, CaseIterable {
    case exposure, gain
  }

  /// Lags that are considered, from 0, in frames. Larger: slower sensors are right, too, and a change whose
  /// answer is not seen is waited for longer.
  static let count = Int(DelayWatch.patience) + 1
  /// Settings that are kept, one per frame: more than any lag that can be given. Larger: no use.
  static let memory = 64
  /// Cost beyond the best pair's from which a pair is ruled out. A cost is the negative logarithm of the
  /// likelihood, so 5 is 1 in 150. Larger: lags are surer, and known later.
  static let doubt = 5.0
  /// Cost of each lag other than the one that an earlier run measured: a large change outweighs it.
  /// Larger: a wrong one is replaced later.
  static let keptCost = 8.0
  /// Most that one frame adds to a cost. Larger: a change of light rules out more.
  static let mostCost = 6.0
  /// Most by which a pair's cost exceeds the best pair's. Larger: lags are surer, and one that was measured
  /// wrongly is corrected later.
  static let mostBelief = 10.0
  /// Smallest change between two frames that tells pairs apart, in EV. Larger: noise decides less often.
  static let least = 0.1
  /// Error of a predicted change, as a fraction of it: the curve is not known. Larger: lags are known later.
  static let misfit = 0.25
  /// Error of a predicted change once the curve was learned, as a fraction of the change.
  static let learnedMisfit = 0.1
  /// Least standard deviation of a change between two frames of the same setting, in EV. Larger: noise
  /// decides less often, and small changes tell less.
  static let leastNoise = 0.03
  /// Weight of the newest frame in the measured noise, 0 to 1. Larger: noise is followed sooner.
  static let follow = 0.1

  private struct Told: Sendable {
    var number: UInt64
    /// EV by part.
    var exposure: Double
    var gain: Double

    subscript(part: Part) -> Double { part == .exposure ? exposure : gain }
  }

  /// One value for each lag.
  private typealias ByLag = InlineArray<9, Double>

  /// Costs of the pairs of lags, at `exposure * count + gain`; infinite for a pair that is excluded. A lag
  /// that is fixed is the first of its part.
  private var costs = InlineArray<81, Double>(repeating: 0)
  /// Cost of the prediction that the picture does not answer.
  private var noAnswer = 0.0
  /// The lag of each part, if the source tells it or the user gave it.
  private let fixed: [Int?]
  /// Whether the lag of each part was known before, or pictures have ruled out some lags.
  private var isMeasured: [Bool]
  private var reported: [ClosedRange<Int>?] = [nil, nil]
  private var isReportDue = false
  /// What the newest frame shows, in EV, for each lag of exposure and of gain.
  private var exposures = ByLag(repeating: 0)
  private var gains = ByLag(repeating: 0)
  private var history: [Told] = []
  private var levels: LevelShares?
  /// Variance of changes between frames of the same setting, in EV squared.
  private var noise = 0.0
  /// Changes in a row that the picture did not answer.
  private(set) var unanswered = 0

  /// `isTold`: the source reports the setting that the picture shows. `known`: lags of exposure and gain, as
  /// the source knows them.
  init(isTold: Bool, known: [ControlDelayTime?] = [nil, nil]) {
    fixed = known.map { isTold ? 0 : $0?.origin == .given ? $0?.frames : nil }
    isMeasured = known.map { isTold || $0 != nil }
    for part in Part.allCases {
      let kept = known[part.rawValue].map {
        min($0.shortest, Self.count - 1)...min($0.frames, Self.count - 1)
      }
      for pair in costs.indices {
        let lag = index(part, of: pair)
        if fixed[part.rawValue] != nil {
          if lag > 0 { costs[pair] = .infinity }
        } else if let kept, !kept.contains(lag) {
          costs[pair] += Self.keptCost
        }
      }
    }
    history.reserveCapacity(Self.memory)
  }

  private func index(_ part: Part, of pair: Int) -> Int {
    part == .exposure ? pair / Self.count : pair % Self.count
  }

  /// Takes in a frame and the setting that the source reports in force for it, and how much of that is gain,
  /// in EV; returns the settings that its picture may show.
  mutating func settings(
    of number: UInt64, told setting: Double, gain: Double, _ levels: LevelShares,
    _ response: ToneResponse
  ) -> ClosedRange<Double> {
    if history.count == Self.memory { history.removeFirst() }
    history.append(Told(number: number, exposure: setting - gain, gain: gain))
    let before = (exposures, gains)
    for lag in 0..<Self.count {
      exposures[lag] = shown(.exposure, at: number, lag)
      gains[lag] = shown(.gain, at: number, lag)
    }
    if history.count > 1, fixed.contains(nil), let last = self.levels {
      compare(
        response.difference(of: levels, from: last), before, isLearned: response.isLearned)
    }
    self.levels = levels
    return shown
  }

  private func shown(_ part: Part, at number: UInt64, _ lag: Int) -> Double {
    let lag = UInt64(fixed[part.rawValue] ?? lag)
    return (history.last { $0.number + lag <= number } ?? history[0])[part]
  }

  /// What the newest frame may show, in EV.
  private var shown: ClosedRange<Double> {
    let most = least + Self.doubt
    var (low, high) = (Double.infinity, -Double.infinity)
    for pair in costs.indices where costs[pair] <= most {
      let setting = exposures[pair / Self.count] + gains[pair % Self.count]
      (low, high) = (min(low, setting), max(high, setting))
    }
    return low...high
  }

  private var least: Double {
    var least = Double.infinity
    for pair in costs.indices { least = min(least, costs[pair]) }
    return least
  }

  /// Takes by how much the newest frame is brighter than the one before, in EV.
  private mutating func compare(
    _ seen: Double?, _ before: (exposures: ByLag, gains: ByLag), isLearned: Bool
  ) {
    guard let seen else { return }
    func predicted(_ pair: Int) -> Double {
      let (one, other) = (pair / Self.count, pair % Self.count)
      return exposures[one] - before.exposures[one] + gains[other] - before.gains[other]
    }
    var most = 0.0
    for pair in costs.indices where costs[pair].isFinite { most = max(most, abs(predicted(pair))) }
    guard most >= Self.least else {
      let small = min(abs(seen), 3 * Self.leastNoise)
      noise += (small * small - noise) * Self.follow
      return
    }
    let variance = max(Self.leastNoise * Self.leastNoise, 2 * noise)
    func cost(_ predicted: Double) -> Double {
      let misfit = (isLearned ? Self.learnedMisfit : Self.misfit) * max(abs(predicted), abs(seen))
      let error = seen - predicted
      return min(error * error / (2 * (variance + misfit * misfit)), Self.mostCost)
    }
    for pair in costs.indices { costs[pair] += cost(predicted(pair)) }
    noAnswer += cost(0)
    let least = min(least, noAnswer)
    noAnswer = min(noAnswer - least, Self.mostBelief)
    for pair in costs.indices where costs[pair].isFinite {
      costs[pair] = min(costs[pair] - least, Self.mostBelief)
    }
    conclude()
  }

  /// Counts changes without an answer.
  private mutating func conclude() {
    let least = least
    if noAnswer + Self.doubt < least {
      unanswered += 1
      forget()
    } else if least + Self.doubt < noAnswer {
      unanswered = 0
      isReportDue = true
    }
  }

  /// Lags of a part that are not ruled out, in frames.
  func lags(_ part: Part) -> ClosedRange<Int> {
    if let frames = fixed[part.rawValue] { return frames...frames }
    let most = least + Self.doubt
    var (low, high) = (Self.count, 0)
    for pair in costs.indices where costs[pair] <= most {
      (low, high) = (min(low, index(part, of: pair)), max(high, index(part, of: pair)))
    }
    return low...high
  }

  /// The longest of the lags that were measured, in frames; 0 if none was.
  var longest: Int {
    Part.allCases.reduce(0) { isMeasured[$1.rawValue] ? max($0, lags($1).upperBound) : $0 }
  }

  /// The shortest of them, in frames.
  var shortest: Int {
    Part.allCases.reduce(longest) {
      isMeasured[$1.rawValue] ? min($0, lags($1).lowerBound) : $0
    }
  }

  /// Lags of a part that the pictures have told since the last call.
  mutating func takeMeasured() -> (part: Part, frames: ClosedRange<Int>)? {
    guard isReportDue else { return nil }
    for part in Part.allCases where fixed[part.rawValue] == nil {
      let lags = lags(part)
      guard lags != reported[part.rawValue], lags.count < Self.count else { continue }
      reported[part.rawValue] = lags
      isMeasured[part.rawValue] = true
      return (part, lags)
    }
    isReportDue = false
    return nil
  }

  /// The picture changed by itself, so it may respond to changes again.
  mutating func tryAgain() { unanswered = 0 }

  /// Forgets what was measured: it may be wrong.
  mutating func forget() {
    for pair in costs.indices where costs[pair].isFinite { costs[pair] = 0 }
    noAnswer = 0
  }
}
