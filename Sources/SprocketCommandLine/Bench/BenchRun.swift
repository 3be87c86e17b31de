internal import Sprocket

/// One case and its measured rounds.
struct BenchCase {
  let chain: [StageChoice]
  let clip: BenchClip
  let workers: Int
  /// Measured frames of a round; those of the warm-up are not counted.
  var frames: UInt64
  var rounds: [BenchRound] = []
  /// Time of the yardstick before each round, in microseconds.
  private var yardstick: [Double] = []

  /// Unmeasured frames at the start of each round: they touch the memory of every slot and fill the caches.
  /// Larger: rounds take longer.
  static let warmUp: UInt64 = 30
  /// Percentile by which results are compared. Larger: other programs disturb it more; smaller: it depends on
  /// the number of frames.
  private static let lowPercent = 10.0

  /// Throws if the chain does not accept the clip's frames.
  init(_ chain: [StageChoice], _ clip: BenchClip, workers: Int, frames: UInt64) throws(RunError) {
    self.chain = chain
    self.clip = clip
    self.workers = workers
    self.frames = frames
    _ = try engine(BenchSource(clip, warmUp: 0, frames: 0))
  }

  func engine(_ source: BenchSource) throws(RunError) -> Engine {
    var options = RunOptions(workers: workers)
    options.warmUp = Self.warmUp
    return try Engine(source: source, stages: chain, sinks: [NullSink()], options: options)
  }

  /// Measures a round, and the yardstick before it. Returns false if a signal ended it.
  mutating func addRound(_ signals: inout StopSignals) throws(RunError) -> Bool {
    if BenchMachine.isOptimized {
      let work = try BenchCase(
        [StageChoice(BenchYardstick.plugin)], clip, workers: 1, frames: BenchYardstick.frames)
      guard let found = try work.measure(&signals) else { return false }
      yardstick.append(found.steps.last?.duration.buckets.interpolated(Self.lowPercent) ?? 0)
    }
    guard let found = try measure(&signals) else {
      // As many of both.
      yardstick = Array(yardstick.prefix(rounds.count))
      return false
    }
    rounds.append(found)
    return true
  }

  /// Runs the engine once; `nil` if a signal ended the run.
  func measure(_ signals: inout StopSignals) throws(RunError) -> BenchRound? {
    let source = BenchSource(clip, warmUp: Self.warmUp, frames: frames)
    let engine = try engine(source)
    let touched = engine.touchedBytes(source: clip.meanBytes)
    guard try engine.finish(&signals) else { return nil }
    let summary = engine.summary
    if let error = summary.errors.first { throw error }
    guard let first = source.first, let end = source.end else {
      throw RunError(.failed, "the run ended before its last frame; please report this")
    }
    return BenchRound(summary, touched, frames: frames, from: first, to: end)
  }

  var name: String {
    let format = clip.source.format
    return BenchResult.Case.name(
      chain.map(\.text), format.pixelFormat.settingText, format.width, format.height, workers)
  }

  /// `nil` before the first round.
  func result(countsAllocations: Bool) -> BenchResult.Case? {
    guard let first = rounds.first else { return nil }
    let format = clip.source.format
    return BenchResult.Case(
      chain: chain.map(\.text), format: format.pixelFormat.settingText, width: format.width,
      height: format.height, workers: workers, frames: frames,
      pictures: clip.period,
      framesPerSecond: Rounds(rounds.map(\.framesPerSecond)),
      cpuMicroseconds: Rounds(rounds.map(\.cpuMicroseconds)),
      yardstick: yardstick.isEmpty ? nil : Rounds(yardstick),
      // The minimum: in some rounds a thread also makes a type's metadata, which allocates.
      allocationsPerFrame: countsAllocations ? rounds.map(\.allocationsPerFrame).min() : nil,
      steps: first.steps.indices.map(result(of:)), disturbance: rounds.map(\.disturbance))
  }

  private func result(of index: Int) -> BenchResult.Step {
    let steps = rounds.map { $0.steps[index] }
    let merged = DurationSummary.merged(steps.map(\.duration))
    return BenchResult.Step(
      name: steps[0].touched.step, wallMicroseconds: Rounds(steps.map(\.duration.p50)),
      cpuMicroseconds: Rounds(steps.map(\.duration.cpu)),
      fastMicroseconds: Rounds(steps.map { $0.duration.buckets.percentile(1) }),
      lowMicroseconds: Rounds(steps.map { $0.duration.buckets.interpolated(Self.lowPercent) }),
      p50: merged.percentile(50), p90: merged.percentile(90), p99: merged.percentile(99),
      p999: merged.percentile(99.9),
      bytesRead: steps[0].touched.read, bytesWritten: steps[0].touched.written)
  }
}

/// Measurements of one run.
struct BenchRound {
  let steps: [(touched: TouchedBytes, duration: DurationSummary)]
  let seconds, framesPerSecond, cpuMicroseconds, allocationsPerFrame: Double
  let disturbance: BenchDisturbance

  init(
    _ summary: RunSummary, _ touched: [TouchedBytes], frames: UInt64, from first: BenchMoment,
    to end: BenchMoment
  ) {
    let count = Double(frames)
    seconds = Double(end.time - first.time) / 1e9
    framesPerSecond = count / seconds
    cpuMicroseconds = Double(end.own - first.own) / 1000 / count
    allocationsPerFrame = Double(end.allocations - first.allocations) / count
    disturbance = BenchDisturbance(from: first, to: end)
    let lines = summary.timedStages
    steps = touched.compactMap { step in
      lines.first { $0.name == step.step }.map { (step, $0.duration) }
    }
  }
}

extension Engine {
  /// Starts the run and waits until it ends. Returns false if a signal asked it to stop.
  func finish(_ signals: inout StopSignals) throws(RunError) -> Bool {
    try start()
    var isStopped = false
    while !wait(for: Runner.tick) {
      while signals.take() {
        isStopped = true
        stop()
      }
    }
    return !isStopped
  }
}

extension StageChoice {
  /// The stage as `--stage` spells it, with settings sorted by name.
  var text: String {
    let settings = settings.chosen.sorted { $0.name < $1.name }.map { "\($0.name)=\($0.text)" }
    return plugin.name + (settings.isEmpty ? "" : ":" + settings.joined(separator: ","))
  }
}
