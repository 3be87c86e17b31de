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
  }

  typealias State = AutoFocus.Report.State

  private var mode: Mode
  private let lens: LensRange
  /// Frames that are averaged at each position.
  private let frames: Int
  private(set) var state = State.waiting
  private(set) var search = FocusSearch()
  private(set) var travel: LensTravel
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

  init(_ mode: Mode, lens: LensRange, travel: LensTravel.Settings, frames: Int = 1) {
    precondition(frames > 0, "a position is looked at for a frame at least")
    self.mode = mode
    self.lens = lens
    self.frames = frames
    self.travel = LensTravel(travel)
  }

  /// Takes what a frame shows: when it was captured, whether the last write shows in it, and where the
  /// lens is, where that is known before the first write. Returns where to send the lens.
  mutating func next(
    _ look: SceneLook, at time: Int64, isShown: Bool, lens position: Double? = nil
  ) -> Double? {
    switch state {
    case .waiting: return begin(at: travel.position ?? position ?? 0.5)
    case .locked, .failed: return nil
    case .coarse, .fine, .settling, .focused, .resting: break
    }
    switch travel.progress(at: time, isShown: isShown) {
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
    (sum, measured, seen, isResent) = (0, 0, 0, false)
  }

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
    noise = ScoreNoise()
    search.begin(at: position, of: lens)
    state = .coarse
    return travel.send(to: search.target)
  }

  private mutating func arrived(_ look: SceneLook) -> Double? {
    switch state {
    case .coarse, .fine: return averaged(look).flatMap { see($0) }
    case .settling: return averaged(look).flatMap { settle($0) }
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
    if !isRepeated, search.isBelow(look.score ?? 0, FocusSearch.standOut, of: search.bestScore) {
      isRepeated = true
      return beginSearch(at: search.target)
    }
    state = mode == .auto ? .locked : .focused
    watch = FocusWatch(look, floor: search.floor)
    return nil
  }
}
