import SprocketCore

/// Decides, frame by frame, where the lens goes. Pure: time is what the frames say.
///
/// In `continuous`, a search (`FocusSearch`) begins at the first frame and whenever the scene has
/// become another one (`FocusWatch`); in `auto` it happens once. Each position is looked at when the lens
/// is there (`LensTravel`), for as many frames as are averaged. Where nothing stands out, the lens goes
/// back to where it was and rests there until the scene is another one.
///
/// What was found is looked at once more: where it has not what it promised, the scene has changed
/// meanwhile, and the search is repeated, once.
struct FocusControl: Sendable {
  enum Mode: Sendable, Hashable {
    /// The lens stays where it is.
    case locked
    /// Once, then locked.
    case auto
    case continuous
    /// To that position, then locked.
    case custom(Double)

    var searches: Bool { self == .auto || self == .continuous }
  }

  typealias State = AutoFocus.Report.State

  private var mode: Mode
  private let lens: LensRange
  /// Frames that are averaged at each position.
  private let frames: Int
  private(set) var state = State.waiting
  private(set) var search = FocusSearch()
  private(set) var travel: LensTravel
  /// Whose frames show where the lens was sent.
  private(set) var lag: LensLag
  private var watch = FocusWatch()
  private var noise = ScoreNoise()
  /// Searches that were begun.
  private(set) var searches = 0
  private var isRepeated = false
  /// A write that did not show was made once more.
  private var isResent = false
  private var sum = 0.0
  private var measured = 0
  private var seen = 0
  /// Frames since the lens came to rest at what was found.
  private var proven = 0

  /// `lag`: from the answer to a write until the picture shows it, as the source knows it.
  init(
    _ mode: Mode, lens: LensRange, travel: LensTravel.Settings, frames: Int = 1,
    lag: ControlDelayTime?
  ) {
    precondition(frames > 0, "a position is looked at for a frame at least")
    self.mode = mode
    self.lens = lens
    self.frames = frames
    self.travel = LensTravel(travel)
    self.lag = LensLag(lag)
  }

  /// Takes what a frame shows: its running number, when it was captured, which frame the source's answer to
  /// the last write belongs to, `nil` before it came, and where the lens is, where that is known before the
  /// first write. Returns where to send the lens.
  mutating func next(
    _ look: SceneLook, number: UInt64, at time: Int64, answer: UInt64?, lens position: Double? = nil
  ) -> Double? {
    let target = decide(look, number, time, answer, position)
    if target != nil { lag.sent() }
    return target
  }

  private mutating func decide(
    _ look: SceneLook, _ number: UInt64, _ time: Int64, _ answer: UInt64?, _ position: Double?
  ) -> Double? {
    switch state {
    case .waiting: return begin(at: travel.position ?? position ?? 0.5)
    case .locked, .failed: return nil
    case .coarse, .fine, .settling, .focused, .resting: break
    }
    let isShown = lag.shows(look.score, at: number, answer: answer)
    switch travel.progress(at: time, isAnswered: answer != nil, isShown: isShown) {
    case .underway: return nil
    case .settling:
      noise.see(look.score)
      return nil
    case .onward(let target): return target
    case .lost:
      guard isResent else {
        isResent = true
        return travel.sendAgain()
      }
      state = .failed
      return nil
    case .arrived:
      isResent = false
      return arrived(look)
    }
  }

  /// Begins in that mode, from where the lens is.
  mutating func begin(_ mode: Mode) {
    guard state != .failed else { return }
    self.mode = mode
    state = .waiting
    (sum, measured, seen, proven, isResent) = (0, 0, 0, 0, false)
  }

  /// The lens's lag that was measured since the last call, in frames.
  mutating func takeMeasuredLag() -> ClosedRange<Int>? { lag.takeMeasured() }

  /// The lens cannot be moved any more.
  mutating func fail() {
    state = .failed
  }

  private mutating func begin(at position: Double) -> Double? {
    switch mode {
    case .locked:
      state = .locked
      return nil
    case .custom(let target):
      state = .settling
      return travel.send(to: lens.snapped(target), fromBelow: true)
    case .auto, .continuous:
      isRepeated = false
      return beginSearch(at: position)
    }
  }

  private mutating func beginSearch(at position: Double) -> Double {
    searches += 1
    lag.begin(isRepeated: isRepeated)
    (sum, measured, seen, proven) = (0, 0, 0, 0)
    noise = ScoreNoise()
    search.begin(at: position, of: lens)
    state = .coarse
    return travel.send(to: search.target)
  }

  private mutating func arrived(_ look: SceneLook) -> Double? {
    if state == .coarse || state == .fine || state == .settling {
      lag.rests(look.score)
      if !isRepeated, mode.searches, lag.takeDoubt() {
        isRepeated = true
        return beginSearch(at: travel.position ?? 0.5)
      }
    }
    switch state {
    case .coarse, .fine: return averaged(look).flatMap { see($0) }
    case .settling:
      proven += 1
      guard proven > lag.proof || !mode.searches else { return nil }
      return averaged(look).flatMap { settle($0) }
    case .focused, .resting:
      guard watch.hasChanged(look) else { return nil }
      isRepeated = false
      return beginSearch(at: travel.position ?? 0.5)
    case .waiting, .locked, .failed: return nil
    }
  }

  /// The mean over as many frames as are averaged, on the last of them; its `score` is `nil` where
  /// nothing was measured in any.
  private mutating func averaged(_ look: SceneLook) -> SceneLook? {
    noise.see(look.score)
    if let score = look.score {
      sum += score
      measured += 1
    }
    seen += 1
    guard seen == frames else { return nil }
    defer { (sum, measured, seen) = (0, 0, 0) }
    noise.moves()
    return SceneLook(score: measured > 0 ? sum / Double(measured) : nil, luma: look.luma)
  }

  private mutating func see(_ look: SceneLook) -> Double {
    search.see(look.score, noise: noise.deviation / Double(frames).squareRoot())
    switch search.phase {
    case .coarse: return travel.send(to: search.target)
    case .fine:
      state = .fine
      return travel.send(to: search.target, fromBelow: true)
    case .found:
      state = .settling
      return travel.send(to: search.target, fromBelow: true)
    case .nothing:
      state = .resting
      watch = FocusWatch(floor: search.floor)
      return travel.send(to: search.target)
    }
  }

  private mutating func settle(_ look: SceneLook) -> Double? {
    if case .custom = mode {
      state = .locked
      return nil
    }
    guard !search.isBelow(look.score ?? 0, FocusSearch.standOut, of: search.bestScore) else {
      guard isRepeated else {
        isRepeated = true
        lag.doubt()
        return beginSearch(at: search.target)
      }
      // Twice the scene has changed meanwhile: nothing is sure.
      state = .resting
      watch = FocusWatch(look, floor: search.floor)
      return nil
    }
    state = mode == .auto ? .locked : .focused
    watch = FocusWatch(look, floor: search.floor)
    return nil
  }
}
