import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

/// Seeded runs in which requests, faults and ends come at random. `SPROCKET_STORMS=201-5000` chooses the
/// seeds; without it there are 100.
@Suite(.timeLimit(.minutes(60)))
struct RequestStormTests {
  static var seeds: ClosedRange<UInt64> {
    let text = unsafe getenv("SPROCKET_STORMS").map { unsafe String(cString: $0) } ?? "1-100"
    let ends = text.split(separator: "-").compactMap { UInt64($0) }
    return (ends.first ?? 1)...(ends.last ?? 1)
  }

  @Test func everyRecordSaysWhatIsInItsFileAndEveryLedgerBalances() throws {
    for seed in Self.seeds {
      var storm = RequestStorm(seed: seed)
      let problems = try storm.run()
      expectEmpty(problems, "storm \(seed): \(problems.joined(separator: "; "))")
    }
  }
}

/// One run with random requests.
private struct RequestStorm {
  private var random: TestRandom
  private let isLive: Bool
  private let movie = MemoryRecorder("movie")
  private let photo = MemoryRecorder("photo", packs: false)
  private let always = RecordingSink()
  private var settings = SettingModel()
  private var stages: [Plugin] = []
  /// Sinks that were attached, and the names of those that still are.
  private var unexpected: [String] = []
  private var extras: [RecordingSink] = []
  private var attached: [String] = []

  init(seed: UInt64) {
    random = TestRandom(seed: seed)
    isLive = random.chance(50)
  }

  /// What does not hold; empty if all is well.
  mutating func run() throws -> [String] {
    for sink in [movie, photo] { prepare(sink) }
    if random.chance(50) { stages.append(Jitter.plugin) }
    let isChanged = random.chance(30)
    if isChanged { stages.append(AddOne.plugin) }
    if random.chance(60) { stages.append(AddValue.plugin) }
    if random.chance(40) { stages.append(RejectThirds.plugin) }
    if random.chance(40) { stages.append(AddValueInSequence.plugin) }
    settings.stages = stages.map(\.name).filter { ["addvalue", "later"].contains($0) }
    settings.base = isChanged ? 1 : 0
    if random.chance(30) { stages.append(FourBack.plugin) }
    let source = ScriptedSource(script(), isLive: isLive)
    let engine = try Engine(
      source: source, stages: stages.map { StageChoice($0) }, sinks: [movie, always, photo],
      options: RunOptions(workers: 1 + random.below(3), drainLimit: .seconds(5))
    ) { GreyUnpacker() }
    try engine.start()
    askAtRandom(engine)
    if !engine.wait(for: longestWait) { return ["the run did not end"] }
    var found = unexpected
    found += extras.flatMap { problems(of: $0, engine.summary) }
    let isTorn = movie.isTorn && !isChanged && settings.stages.isEmpty
    return found + problems(engine) + settings.problems(engine, shown: shown)
      + (isTorn ? ["torn"] : [])
  }

  private mutating func prepare(_ sink: MemoryRecorder) {
    if random.chance(20) { sink.limits.fileBytes = UInt64(100 * (1 + random.below(30))) }
    if random.chance(10) { sink.limits.bytes = UInt64(100 * (1 + random.below(60))) }
    if random.chance(20) { sink.failsAt = UInt64(random.below(300)) }
    if random.chance(25) {
      sink.preRoll = PreRoll(
        .microseconds(random.below(5000) + 1), bytes: 100 * (1 + random.below(40)))
    }
    if random.chance(20) { sink.finishDelay = UInt32(random.below(3000)) }
    let slow = random.chance(20) ? UInt64(1 + random.below(40)) : 0
    sink.writeDelay = { number in slow > 0 && number % slow == 0 ? 2000 : 0 }
  }

  private mutating func script() -> [ScriptedSource.Step] {
    var steps: [ScriptedSource.Step] = []
    var sequence: UInt64 = 0
    var width = 8
    for _ in 0..<(20 + random.below(300)) {
      switch random.below(100) {
      case 0..<2: sequence += UInt64(1 + random.below(20))
      case 2..<4: steps.append(.pause(nanoseconds: Int64(random.below(2_000_000))))
      case 4:
        width = random.chance(50) ? width : 24 - width
        steps.append(.epoch(width: width))
      case 5: sequence = sequence > 10 ? sequence - 10 : sequence
      default: break
      }
      steps.append(.frame(sequence: sequence, corrupt: random.chance(2)))
      if isLive, random.chance(30) { steps.append(.pause(nanoseconds: 50_000)) }
      sequence += 1
    }
    return steps
  }

  private mutating func askAtRandom(_ engine: Engine) {
    var ids: [RecordingID] = []
    let stopsAt = random.chance(20) ? random.below(60) : .max
    for count in 0..<60 where !engine.wait(for: .zero) {
      if count == stopsAt { engine.stop() }
      let moment: Moment =
        random.chance(70)
        ? .now
        : random.chance(80)
          ? .frame(UInt64(random.below(400))) : .time(.microseconds(random.below(3000)))
      if random.chance(10) { reconfigure(engine) }
      if random.chance(40) { settings.ask(engine, &random, at: moment) }
      var requests: [Request] = []
      for _ in 0..<(random.chance(80) ? 1 : 2) { requests.append(request(ids)) }
      // Refusals are part of it.
      do throws(RunError) { ids += try engine.ask(requests, at: moment) } catch {}
      usleep(UInt32(random.below(1500)))
    }
  }

  /// Changes the run's shape, or asks for a change that is to be refused.
  private mutating func reconfigure(_ engine: Engine) {
    var change = Reconfiguration()
    var values: [String: Int]?
    var isWrong = false
    var extra: RecordingSink?
    switch random.below(100) {
    case 0..<35:
      let sink = RecordingSink("extra\(extras.count)", packs: random.chance(50))
      if random.chance(30) { sink.selectsEvery = 3 }
      if random.chance(20) { sink.failsAt = UInt64(random.below(300)) }
      extra = sink
      change.attached = [sink]
    case 35..<60:
      if let name = attached.isEmpty ? nil : attached[random.below(attached.count)] {
        change.detached = [name]
      }
    case 60..<75: (change.stages, values) = newStages()
    case 75..<85: change.source = ScriptedSource(script(), isLive: random.chance(50))
    default:
      isWrong = true
      change.attached = [RecordingSink("movie")]
      if random.chance(50) { change = Reconfiguration() }
      if change.attached.isEmpty { change.detached = ["nobody"] }
    }
    do throws(RunError) {
      try engine.reconfigure(change)
      if isWrong { unexpected.append("a wrong change was accepted") }
      settings.shapes.append(values)
      attached.removeAll { change.detached.contains($0) }
      if let extra {
        extras.append(extra)
        attached.append(extra.name)
      }
    } catch {
      let mayBe = ["the run has ended", "the source changed its format again and again"]
      if !isWrong, !mayBe.contains(where: { error.description.hasPrefix($0) }) {
        unexpected.append("refused: \(error)")
      }
    }
  }

  /// The chain once more, with another first value of `addvalue`.
  private mutating func newStages() -> ([StageChoice], [String: Int]) {
    let value = 1 + random.below(20)
    let choices = stages.map { plugin in
      var choice = StageChoice(plugin)
      if plugin.name == "addvalue" { choice[AddValue.Settings.self]?.value = value }
      return choice
    }
    return (choices, stages.contains { $0.name == "addvalue" } ? ["addvalue.value": value] : [:])
  }

  /// A sink that was attached has each frame from then on, until it was detached.
  private func problems(of sink: RecordingSink, _ summary: RunSummary) -> [String] {
    let line = (summary.sinks + summary.detached).first { $0.name == sink.name }
    guard let line else { return ["\(sink.name) has no account"] }
    let frames = line.frames ?? 0..<summary.ledger.produced
    var found: [String] = []
    if sink.finishes != 1 { found.append("\(sink.name) was finished \(sink.finishes) times") }
    if sink.isTorn { found.append("\(sink.name) is torn") }
    let numbers = sink.lines.map(\.number)
    // A sink that failed is told nothing more.
    let isWhole =
      line.counts[.failed] == 0 ? numbers == Array(frames) : numbers.allSatisfy(frames.contains)
    if !isWhole { found.append("\(sink.name): \(numbers) of \(frames)") }
    return found
  }

  private mutating func request(_ ids: [RecordingID]) -> Request {
    let sink = random.chance(60) ? "movie" : "photo"
    guard let id = ids.isEmpty ? nil : ids[max(0, ids.count - 1 - random.below(3))] else {
      return .record(sink: sink)
    }
    switch random.below(100) {
    case 0..<35: return .record(sink: sink)
    case 35..<55: return .record(sink: sink, frames: UInt64(1 + random.below(8)))
    case 55..<70: return .next(id)
    default: return .stop(id)
    }
  }

  // MARK: What must hold

  /// What stages have added to each frame that a sink got.
  private var shown: [(number: UInt64, added: Int)] {
    let lines = always.lines.filter { $0.fate == .delivered }.map {
      ($0.number, $0.byte &- UInt8(truncatingIfNeeded: $0.sequence))
    }
    let files = [movie, photo].flatMap { $0.files.withLock { $0 } }
    return (lines + files.flatMap { zip($0.numbers, $0.added) }).map { ($0, Int($1)) }
  }

  private func problems(_ engine: Engine) -> [String] {
    var found: [String] = []
    let summary = engine.summary
    if !summary.ledger.isBalanced { found.append("unbalanced: \(summary.ledger)") }
    let records = engine.recordingRecords
    for (index, sink) in [movie, photo].enumerated() {
      let files = sink.files.withLock { $0 }
      let mine = records.filter { $0.sink == sink.name }
      if mine.contains(where: { $0.reason == nil }) { found.append("a recording has no end") }
      for record in mine {
        guard let file = files.last(where: { $0.path == record.path }) else {
          found.append("no file \(record.path)")
          continue
        }
        found += differences(record, file)
      }
      let numbers = files.flatMap(\.numbers)
      if Set(numbers).count != numbers.count { found.append("a frame is in two files") }
      if sink.strayCalls > 0 { found.append("called without a recording") }
      let counts = summary.ledger.entries[[0, 2][index]].counts
      let kept = mine.reduce(0) { $0 + $1.counts[.delivered] }
      if kept != counts[.delivered] {
        found.append("\(sink.name): \(kept) in files and \(counts[.delivered]) in the ledger")
      }
      found += gaps(mine)
    }
    if UInt64(always.lines.count) != summary.ledger.produced {
      found.append("the other sink lost lines")
    }
    return found
  }

  private func differences(_ record: RecordingRecord, _ file: MemoryFile) -> [String] {
    var found: [String] = []
    let name = record.path
    if file.numbers.isEmpty {
      if record.isUsable || !file.isAbandoned { found.append("\(name) is empty and kept") }
      return found
    }
    guard let begin = record.begin, let end = record.end else { return ["\(name) has no interval"] }
    if record.firstFrame?.number != file.numbers.first
      || record.lastFrame?.number != file.numbers.last
    {
      found.append("\(name): first or last frame")
    }
    if file.numbers != file.numbers.sorted() { found.append("\(name): order") }
    let taken = record.counts[.delivered] + (record.isUsable ? 0 : UInt64(file.numbers.count))
    if taken != UInt64(file.numbers.count) {
      found.append("\(name): \(taken) of \(file.numbers.count)")
    }
    if record.counts.sum != end - begin {
      found.append("\(name): \(record.counts) for \(begin)..<\(end)")
    }
    // The frame that could not be written is in neither.
    let failed = record.reason == .error && !file.numbers.contains(end - 1) ? [end - 1] : []
    let all = (file.numbers + file.lost + failed).sorted()
    if all != Array(begin..<end) {
      found.append("\(name): not every frame of \(begin)..<\(end) once")
    }
    return found
  }

  /// The files of one recording follow each other without a gap.
  private func gaps(_ records: [RecordingRecord]) -> [String] {
    var ends: [RecordingID: UInt64] = [:]
    var found: [String] = []
    for record in records.sorted(by: { ($0.begin ?? 0, $0.end ?? 0) < ($1.begin ?? 0, $1.end ?? 0) }
    ) {
      if let end = ends[record.id], record.counts.sum > 0, record.begin != end {
        found.append("\(record.path) begins at \(record.begin ?? 0) and not at \(end)")
      }
      if record.counts.sum > 0 { ends[record.id] = record.end }
    }
    return found
  }
}
