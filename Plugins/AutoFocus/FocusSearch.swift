import Glibc

/// Looks for the lens position of the highest score: coarsely, then finely, then between positions.
///
/// Pure, and without time: it returns the next position to measure, and takes the score measured there.
///
/// Coarse: from where the lens is, upwards and downwards, first on the side with the better scores, until
/// on both sides the score has fallen to half of the best (noise does not rise as high) or the range ends.
/// The best *stands out* when some other score is at most three quarters of it: not in noise, nor in a
/// scene without contrast.
/// Fine: in quarters of the step, upwards around the best one, further while the best lies at an end.
/// Then the vertex of a parabola through the logarithms of the scores around the best: S. K. Nayar
/// and Y. Nakagawa, "Shape from Focus", IEEE PAMI 16(8), 1994.
///
/// A floor is added to scores that are compared: three standard deviations of their noise, 0.001 at least.
/// So 0.0002 is not twice 0.0001 far from the focus, where scores are nearly 0.
///
/// Coarse to fine and the ratio of 0.75 are those of Raspberry Pi's autofocus in libcamera.
struct FocusSearch: Sendable {
  enum Phase: Sendable {
    case coarse, fine
    /// `target` is the peak.
    case found
    /// No position stands out; `target` is where the search began.
    case nothing
  }

  struct Look: Sendable {
    var position: Double
    /// `nil` where nothing could be measured.
    var score: Double?
  }

  /// Most positions of a search: 17 coarse ones cover the range, 7 are fine, 1 is spare. Larger: a search
  /// that finds no end takes longer.
  static let mostLooks = 25
  /// Score, as a fraction of the best, at which the coarse search ends on that side. Larger: shorter
  /// searches that may end at a hump. By trial on the scene: humps of noise fall less.
  static let fall = 0.5
  /// Score, as a fraction of the best, that the best stands out from. Larger: noise is taken for a peak
  /// more often; smaller: flat scenes are given up more often. libcamera's ratio.
  static let standOut = 0.75
  /// Least value of `floor`, which is added to both scores of a comparison, in units of the default score of
  /// `focus`. Larger: very soft scenes are given up more often. A tenth of 0.01, the least score of sharp
  /// photographs.
  static let leastFloor = 0.001
  /// Coarse step, as a fraction of the lens's range. Larger: shorter searches that may step over a narrow
  /// peak. By trial on the scene.
  static let coarseStep = 1.0 / 16

  private(set) var phase = Phase.found
  /// Where to look next, or what was found.
  private(set) var target = 0.0
  private(set) var looks: [Look] = []

  private var lens = LensRange()
  private var coarse = 0.0
  private var fine = 0.0
  private var start = 0.0
  /// The outermost coarse looks, and the side on which the next one is.
  private var lowest = Look(position: 0)
  private var highest = Look(position: 0)
  private var isUpwards = true
  /// Standard deviation of the scores.
  private var noise = 0.0
  /// Index of the first fine look, and where the fine looks that are under way end.
  private var firstFine = 0
  private var lastFine = 0.0

  init() {
    looks.reserveCapacity(Self.mostLooks)
  }

  /// Begins anew where the lens is.
  mutating func begin(at position: Double, of lens: LensRange) {
    self.lens = lens
    coarse = lens.whole(Self.coarseStep)
    fine = lens.whole(coarse / 4)
    looks.removeAll(keepingCapacity: true)
    start = lens.snapped(position)
    isUpwards = start < 0.5
    lowest = Look(position: start)
    highest = lowest
    target = start
    phase = .coarse
  }

  /// Takes the score that was seen at `target`, `nil` where there was nothing to be measured, and how
  /// noisy scores are: their standard deviation.
  mutating func see(_ score: Double?, noise: Double = 0) {
    guard phase == .coarse || phase == .fine else { return }
    self.noise = noise
    looks.append(Look(position: target, score: score))
    if looks.count == Self.mostLooks {
      conclude()
    } else if phase == .coarse {
      if let next = nextCoarse() { target = next } else { beginFine() }
    } else {
      if let next = nextFine() { target = next } else { conclude() }
    }
  }

  /// What is added to scores that are compared.
  var floor: Double { max(3 * noise, Self.leastFloor) }

  /// The highest score of this search; 0 where there is none.
  var bestScore: Double { best(from: 0)?.score ?? 0 }
}

// MARK: Coarse

extension FocusSearch {
  private mutating func nextCoarse() -> Double? {
    guard let last = looks.last else { return nil }
    if last.position <= lowest.position { lowest = last }
    if last.position >= highest.position { highest = last }
    let up = step(from: highest, by: coarse)
    let down = step(from: lowest, by: -coarse)
    if up != nil, down != nil, looksWorse(isUpwards ? highest : lowest) { isUpwards.toggle() }
    if up == nil || down == nil { isUpwards = up != nil }
    return isUpwards ? up : down
  }

  /// The next coarse position beyond `look`; `nil` where the score has fallen to `fall`, or the range ends
  /// within half a step.
  private func step(from look: Look, by distance: Double) -> Double? {
    if let best = best(from: 0), isBelow(look.score, Self.fall, of: best.score) { return nil }
    let next = lens.snapped(look.position + distance)
    return abs(next - look.position) > coarse * 0.49 ? next : nil
  }

  /// Whether the outermost look on this side is clearly worse than that on the other.
  private func looksWorse(_ look: Look) -> Bool {
    let other = look.position == highest.position ? lowest : highest
    guard let there = other.score else { return false }
    guard let here = look.score else { return true }
    return here + 3 * noise < Self.standOut * (there + 3 * noise)
  }

  /// Whether the best is not just one of many alike. Positions where there was nothing to be measured
  /// count as 0 here: far out of focus, a scene may have lost all contrast.
  private var standsOut: Bool {
    guard let best = best(from: 0) else { return false }
    return looks.contains { isBelow($0.score ?? 0, Self.standOut, of: best.score) }
  }

  /// Whether `score` is at most that share of `other`, both with the floor added; false for `nil`.
  func isBelow(_ score: Double?, _ share: Double, of other: Double) -> Bool {
    guard let score else { return false }
    return score + floor <= share * (other + floor)
  }

  private func best(from first: Int) -> (position: Double, score: Double)? {
    var found: (position: Double, score: Double)?
    for index in first..<looks.count {
      guard let score = looks[index].score, score > found?.score ?? -1 else { continue }
      found = (looks[index].position, score)
    }
    return found
  }
}

// MARK: Fine

extension FocusSearch {
  private mutating func beginFine() {
    guard standsOut, let best = best(from: 0) else {
      phase = .nothing
      target = start
      return
    }
    phase = .fine
    firstFine = looks.count
    let reach = fineReach
    target = lens.snapped(best.position - reach)
    lastFine = lens.snapped(best.position + reach)
    if reach == 0 { conclude() }
  }

  /// How far fine looks go to each side: up to the next coarse look.
  private var fineReach: Double { ((coarse / fine * 0.75 + 1e-9).rounded(.down)) * fine }

  private mutating func nextFine() -> Double? {
    guard let best = best(from: firstFine) else { return nil }
    let next = lens.snapped(target + fine)
    let goesOn = target < lastFine - fine / 2 || best.position == target && !isSeen(next)
    if next > target, goesOn { return next }
    // Always upwards: what lies below comes in a row of its own.
    let lowest = looks[firstFine...].reduce(1) { min($0, $1.position) }
    guard best.position == lowest, lens.snapped(lowest - fine) < lowest else { return nil }
    lastFine = lens.snapped(lowest - fine)
    return lens.snapped(lowest - max(fineReach, fine))
  }

  private func isSeen(_ position: Double) -> Bool {
    looks[firstFine...].contains { abs($0.position - position) < fine / 2 }
  }

  private mutating func conclude() {
    guard standsOut, let best = best(from: firstFine) ?? best(from: 0) else {
      phase = .nothing
      target = start
      return
    }
    phase = .found
    target = lens.snapped(vertex(around: best.position, score: best.score))
  }

  /// The vertex of the least-squares parabola through the logarithms of the scores around the best: of the
  /// fine ones, up to two steps away; where the peak is so broad that the fine ones have not fallen, of all
  /// scores near the top. Never outside of what was looked at.
  private func vertex(around position: Double, score: Double) -> Double {
    let rows = looks[firstFine...]
    let isBroad = !rows.contains { isBelow($0.score ?? 0, Self.standOut, of: score) }
    var fit = ParabolaFit()
    var reach = 1.0
    for look in isBroad ? looks[...] : rows {
      let x = (look.position - position) / fine
      guard let seen = look.score,
        isBroad ? !isBelow(seen, Self.standOut, of: score) : abs(x) < 2.5
      else { continue }
      if isBroad { reach = max(reach, abs(x)) }
      fit.add(x, log(seen + floor))
    }
    guard let vertex = fit.vertex else { return position }
    return position + fine * min(max(vertex, -reach), reach)
  }
}
