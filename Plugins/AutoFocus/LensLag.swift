import SprocketCore

/// Tells from which frame on the picture shows a lens on its way to where it was sent, and measures the
/// lens's lag for that: frames from the source's answer to a write until the score changes. Pure.
///
/// A source that tells with the answer which frame shows it, or a lag that the user gave, is believed. Else
/// the lag is unknown: a move shows when the score changes, or after `longest` frames where it does not. Two
/// moves that agree give the lag.
///
/// A lens at rest shows one score. Where it changes although the lens should be at rest, the lag is doubted:
/// what was looked at was not what it was taken for. Then each move is waited for as long as any lens takes.
struct LensLag: Sendable {
  /// Lag of the slowest lens, in frames. Larger: slower lenses are right, too, and moves that the score does
  /// not show take longer.
  static let longest = DelayWatch.patience
  /// Change of the score from one frame to the next that is no noise, in standard deviations. Larger: a lens
  /// that lags is noticed less often; smaller: noise is taken for a move. By trial on the scene.
  static let deviations = 6.0
  /// Least change of the score that counts as a move, as a fraction of the score: what moves in the scene
  /// changes it, too. Larger: a lens that lags is noticed less often; smaller: the scene is taken for a move.
  static let fraction = 0.06
  /// Change from which a move is taken to show, as a multiple of those. Larger: more moves are waited for as
  /// long as any lens takes.
  static let clear = 2.0

  private let isFixed: Bool
  /// The lag, in frames; `nil` if it is not known.
  private(set) var frames: ClosedRange<Int>?
  /// What the latest move showed, until another one agrees.
  private var candidate: ClosedRange<Int>?
  /// The lag was doubted: no move is taken to show before `longest`.
  private var waits = false
  private var isDoubted = false
  private var isNews = false
  private var isUnderway = false
  /// The score has changed since the write.
  private var hasMoved = false
  /// It changed by so much that nothing else can be the reason.
  private var isClear = false
  private var last: UInt64 = 0
  private var noise = ScoreNoise()
  /// The score of the frame before; `nil` if the lens may have moved since.
  private var before: Double?

  /// `known`: the lag, as the source knows it.
  init(_ known: ControlDelayTime?) {
    frames = known.map { $0.shortest...$0.frames }
    isFixed = known?.origin == .told || known?.origin == .given
  }

  /// Frames after the answer from which each picture shows the move.
  private var due: UInt64 {
    let known = frames.map { UInt64(clamping: $0.upperBound) } ?? Self.longest
    return waits ? max(known, Self.longest) : known
  }

  /// Frames for which a lens that has arrived must still show one score, so that it is sure to have arrived.
  var proof: Int { isFixed ? 0 : Int(clamping: Self.longest - min(due, Self.longest)) }

  /// A search begins. What was doubted before was measured again by then, or is doubted again.
  mutating func begin(isRepeated: Bool) {
    waits = isRepeated
    isDoubted = false
  }

  /// The lens was sent somewhere.
  mutating func sent() {
    isUnderway = true
    (hasMoved, isClear) = (false, false)
  }

  /// Whether a frame shows the lens on its way: its score, and the frame of the source's answer, if there was
  /// one.
  mutating func shows(_ score: Double?, at number: UInt64, answer: UInt64?) -> Bool {
    defer { last = number }
    guard isUnderway else { return true }
    let waited = answer.flatMap { $0 <= number ? number - $0 : nil }
    if !isFixed, !hasMoved { look(score, at: number, waited, answer ?? 0) }
    let isSeen = hasMoved && isClear && frames == nil && !waits
    guard let waited, waited >= due || isSeen else { return false }
    isUnderway = false
    before = nil
    noise.moves()
    return true
  }

  /// Looks for the first change since the write.
  private mutating func look(
    _ score: Double?, at number: UInt64, _ waited: UInt64?, _ answer: UInt64
  ) {
    guard let score else { return }
    let change = change(to: score)
    guard change >= 1 else { return rest(score) }
    hasMoved = true
    before = score
    guard let waited else {
      isDoubted = true
      return
    }
    isClear = change >= Self.clear
    guard isClear else { return }
    let most = Int(clamping: waited)
    measured(min(Int(clamping: max(last + 1, answer) - answer), most)...most)
  }

  private mutating func measured(_ seen: ClosedRange<Int>) {
    if let frames, seen.upperBound < frames.lowerBound { isDoubted = true }
    if let candidate {
      if candidate.overlaps(seen) {
        let both = candidate.clamped(to: seen)
        isNews = isNews || frames != both
        frames = both
      } else {
        isDoubted = true
      }
    }
    candidate = seen
  }

  /// Takes the score of a frame for which the lens is taken to be at rest.
  mutating func rests(_ score: Double?) {
    guard !isFixed, let score else { return }
    if change(to: score) >= 1 { isDoubted = true }
    rest(score)
  }

  private mutating func rest(_ score: Double) {
    before = score
    noise.see(score)
  }

  /// Change of the score since the frame before, as a multiple of the least that is no noise.
  private func change(to score: Double) -> Double {
    guard let before else { return 0 }
    // Few frames tell less of the noise than there may be.
    let deviation = noise.deviation * Self.deviations * (1 + 4 / max(noise.count, 1))
    return abs(score - before)
      / max(deviation, Self.fraction * max(score, before) + FocusSearch.leastFloor)
  }

  /// Whether the lens moved when it was taken to be at rest. Asked once, it is forgotten, and so is the lag.
  mutating func takeDoubt() -> Bool {
    defer { isDoubted = false }
    guard isDoubted, !waits else { return false }
    doubt()
    return true
  }

  /// What was found does not hold: the lag may be wrong.
  mutating func doubt() {
    guard !isFixed else { return }
    (frames, candidate) = (nil, nil)
  }

  /// The lag that was measured since the last call.
  mutating func takeMeasured() -> ClosedRange<Int>? {
    defer { isNews = false }
    return isNews ? frames : nil
  }
}
