internal import Glibc
internal import Sprocket

/// What has become slower than in an earlier result. docs/measuring.md lists the keys.
struct BenchComparison: Codable {
  let against: String
  /// What is slower by more than this fraction is `slower`.
  let limit: Double
  /// Probability that an interval holds the true change.
  let confidence: Double
  let verdict: BenchVerdict
  let steps: [Step]
  /// What differs beside the steps, and what could not be compared, one sentence each.
  let notes: [String]

  struct Step: Codable {
    let `case`, step: String
    let beforeMicroseconds, nowMicroseconds: Double
    /// Fractions of the earlier time; absent where there is a reason not to compare.
    var change, low, high: Double?
    /// `nil` for a step that takes too little of the chain's time to decide anything.
    var verdict: BenchVerdict?
    /// Why it is undecided or not judged.
    var reason: String?

    enum CodingKeys: String, CodingKey {
      case `case`, step, change, low, high, verdict, reason
      case beforeMicroseconds = "before_us"
      case nowMicroseconds = "now_us"
    }
  }

  /// Fewest rounds for a comparison. With fewer the interval is estimated too poorly.
  static let leastRounds = 10
  /// The limit if none is given. The layout of the same code in memory makes a few percent of difference
  /// (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong", 2009). Larger: misses
  /// more; smaller: more is undecided.
  static let defaultLimit = 0.05
  /// Resolution of durations, in microseconds: the width of a histogram's narrowest buckets.
  private static let resolution = 0.064
  /// Shortest step that is judged, in microseconds: ten times the resolution.
  private static let shortest = 10 * resolution
  /// Smallest share of its chain's time for a step to be judged. Larger: more steps go unjudged; smaller:
  /// steps that hardly matter make the whole undecided.
  private static let leastShare = 0.01
  /// How many times the CPU time a step's time may be before it counts as waiting.
  private static let waiting = 1.1

  init(of now: BenchResult, with earlier: BenchResult, path: String, limit: Double) {
    (against, self.limit, confidence) = (path, limit, Change.confidence)
    var notes = now.machine.differences(from: earlier.machine)
    var unfit: String?
    if !now.machine.isComparable(with: earlier.machine) { unfit = "measured on another processor" }
    if earlier.source != now.source {
      notes.append("another source: \(now.source), before \(earlier.source)")
      unfit = "measured with another source"
    }
    var steps: [Step] = []
    var isWhole = true
    for found in now.cases {
      guard let before = earlier.cases.first(where: { $0.name == found.name }) else {
        notes.append("\(found.name): not in the earlier result")
        isWhole = false
        continue
      }
      if let line = Self.allocations(before, found) { notes.append(line) }
      let judged =
        found.steps.map { step in
          Self.judge(step, of: found, before, limit: limit, unfit: unfit)
        }
        + before.steps.filter { step in !found.steps.contains { $0.name == step.name } }.map {
          Step(
            case: found.name, step: $0.name,
            beforeMicroseconds: $0.lowMicroseconds?.typical ?? 0, nowMicroseconds: 0,
            verdict: .undecided, reason: "no longer there")
        }
      if judged.allSatisfy({ $0.verdict == nil }) {
        notes.append("\(found.name): no step takes long enough to be judged")
        isWhole = false
      }
      steps += judged
    }
    for before in earlier.cases where !now.cases.contains(where: { $0.name == before.name }) {
      notes.append("\(before.name): in the earlier result alone")
    }
    let verdicts = steps.compactMap(\.verdict)
    verdict =
      verdicts.contains(.slower)
      ? .slower : verdicts.contains(.undecided) || !isWhole ? .undecided : .unchanged
    (self.steps, self.notes) = (steps, notes)
  }

  // MARK: Steps

  private static func judge(
    _ now: BenchResult.Step, of found: BenchResult.Case, _ earlier: BenchResult.Case,
    limit: Double, unfit: String?
  ) -> Step {
    let before = earlier.steps.first { $0.name == now.name }
    var line = Step(
      case: found.name, step: now.name,
      beforeMicroseconds: before?.lowMicroseconds?.typical ?? 0,
      nowMicroseconds: now.lowMicroseconds?.typical ?? 0)
    if let reason = unfit ?? self.reason(found, earlier) ?? (before == nil ? "a new step" : nil) {
      (line.verdict, line.reason) = (.undecided, reason)
      return line
    }
    let total = max(earlier.lowSum, found.lowSum)
    let longest = max(line.beforeMicroseconds, line.nowMicroseconds)
    if longest < max(shortest, leastShare * total) {
      line.reason = "too short to be judged"
      return line
    }
    guard let before, let change = change(before, now, earlier, found) else { return line }
    line.change = exp(change.middle) - 1
    (line.low, line.high) = (exp(change.low) - 1, exp(change.high) - 1)
    line.verdict = change.verdict(limit: limit)
    let used = Change(
      from: before.cpuMicroseconds.rounds, to: now.cpuMicroseconds.rounds, resolution: resolution)
    if line.verdict == .unchanged || line.verdict == .faster, used.verdict(limit: limit) == .slower
    {
      line.verdict = .undecided
      line.reason =
        "the quickest tenth of the frames have not changed, CPU time has: other programs disturbed it, or "
        + "only some frames have changed"
    } else if line.verdict == .undecided {
      line.reason = reason(
        yardstick: (found.yardstick?.typical ?? 0) / (earlier.yardstick?.typical ?? 1))
    }
    return line
  }

  /// Why an interval holds the limit. `factor` is that of the yardstick's time.
  private static func reason(yardstick factor: Double) -> String {
    abs(log(factor)) > log(1 + BenchYardstick.tolerated)
      ? "the machine took \(fixed(factor, 2)) times as long for the same work; measure both results again, "
        + "one right after the other"
      : "the limit lies within the interval; measure again, with more --rounds"
  }

  /// Why two cases cannot be compared.
  private static func reason(_ now: BenchResult.Case, _ earlier: BenchResult.Case) -> String? {
    guard min(now.rounds, earlier.rounds) >= leastRounds else {
      return "too few rounds to tell a change; take \(leastRounds) both times"
    }
    guard now.yardstick != nil, earlier.yardstick != nil, let pictures = now.pictures,
      earlier.steps.allSatisfy({ $0.lowMicroseconds != nil })
    else {
      return "measured by a debug build or an older version; measure the earlier result again"
    }
    if now.frames != earlier.frames, min(now.frames, earlier.frames) < pictures {
      return
        "\(now.frames) frames in a round, before \(earlier.frames), and \(pictures) are needed to "
        + "show every picture; give more --frames, or the same"
    }
    return nil
  }

  /// The interval holds the change as measured, and the change relative to the yardstick's: how much of the
  /// yardstick's change a step shares is not known.
  private static func change(
    _ before: BenchResult.Step, _ now: BenchResult.Step, _ earlier: BenchResult.Case,
    _ found: BenchResult.Case
  ) -> Change? {
    guard let lowBefore = before.lowMicroseconds, let lowNow = now.lowMicroseconds,
      let yardstickBefore = earlier.yardstick, let yardstickNow = found.yardstick
    else { return nil }
    var change = Change(from: lowBefore.rounds, to: lowNow.rounds, resolution: resolution)
    let scale = yardstickBefore.typical
    func relative(_ rounds: Rounds, _ yardstick: Rounds) -> [Double] {
      zip(rounds.rounds, yardstick.rounds).map { $0 * scale / max($1, resolution) }
    }
    change.extend(
      to: Change(
        from: relative(lowBefore, yardstickBefore), to: relative(lowNow, yardstickNow),
        resolution: resolution))
    let speed = log(yardstickNow.typical / max(scale, resolution))
    if abs(speed) > log(1 + BenchYardstick.tolerated) {
      change.widen(by: BenchYardstick.sensitivity * abs(speed))
    }
    // A step that waits while others use the cores may wait for a core.
    let waits =
      lowBefore.typical > waiting * before.cpuMicroseconds.typical
      || lowNow.typical > waiting * now.cpuMicroseconds.typical
    if waits, (earlier.disturbance + found.disturbance).contains(where: \.isTold) {
      change.extend(
        to: Change(
          from: before.cpuMicroseconds.rounds, to: now.cpuMicroseconds.rounds,
          resolution: resolution))
    }
    return change
  }

  // MARK: Allocations

  /// Smallest change of allocations per frame that is reported. An allocation in each frame is 1 or more;
  /// larger misses allocations in some frames, smaller reports those that a run makes once.
  private static let leastAllocations = 0.5
  /// Smallest change of allocations in a round that is reported. Larger misses more in short rounds. Equal
  /// runs differ by up to a hundred.
  private static let leastAllocationsOfRound = 100.0

  /// The line for a case's allocations; `nil` if they have not changed or were not counted.
  private static func allocations(
    _ earlier: BenchResult.Case, _ now: BenchResult.Case
  ) -> String? {
    guard let before = earlier.allocationsPerFrame, let after = now.allocationsPerFrame,
      abs(after - before) >= leastAllocations,
      abs(after - before) * Double(min(earlier.frames, now.frames)) > leastAllocationsOfRound
    else { return nil }
    return "\(now.name): \(fixed(after, 2)) allocations per frame, before \(fixed(before, 2))"
  }
}

extension BenchResult.Case {
  /// Rounds that were measured.
  fileprivate var rounds: Int { framesPerSecond.rounds.count }
  /// Time of all steps, in microseconds.
  fileprivate var lowSum: Double { steps.reduce(0) { $0 + ($1.lowMicroseconds?.typical ?? 0) } }
}
