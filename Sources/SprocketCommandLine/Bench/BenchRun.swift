internal import Sprocket
internal import SprocketPipelines

/// How cases are measured.
struct BenchMethod {
  /// `nil` if the kernel counts none.
  var counters: HardwareCounters?
  /// Slices of each frame are kept.
  var keepsFrames = false

  static let events: [HardwareCounters.Event] = [.instructions, .cycles, .cacheMisses]
}

/// What a case runs, beside its format, size and workers.
struct BenchChain {
  var stages: [StageChoice]
  var sinks: [Part]

  /// Stages and sinks, spelled like options.
  var texts: [String] {
    stages.map(\.text) + sinks.map { partText("sink \($0.kind)", $0.settings) }
  }
}

/// One case and its measured rounds.
struct BenchCase {
  let chain: BenchChain
  let clip: BenchClip
  let origin: BenchOrigin
  /// Frames come from the source itself, and not from memory.
  let isFromSource: Bool
  let workers: Int
  /// Measured frames of a round; those of the warm-up are not counted.
  var frames: UInt64
  var method = BenchMethod()
  var rounds: [BenchRound] = []
  /// Time of the yardstick before each round, in microseconds.
  private var yardstick: [Double] = []

  /// Unmeasured frames at the start of each round: they touch the memory of every slot and fill the caches.
  /// Larger: rounds take longer.
  static let warmUp: UInt64 = 30
  /// Percentile by which results are compared. Larger: other programs disturb it more; smaller: it depends on
  /// the number of frames.
  private static let lowPercent = 10.0

  /// Throws if the chain does not accept the frames. Existing files are refused, unless they may be replaced.
  init(
    _ chain: BenchChain, _ clip: BenchClip, _ origin: BenchOrigin, isFromSource: Bool, workers: Int,
    frames: UInt64, overwrite: Bool = true
  ) throws(RunError) {
    self.chain = chain
    self.clip = clip
    self.origin = origin
    self.isFromSource = isFromSource
    self.workers = workers
    self.frames = frames
    _ = try engine(source(warmUp: 0, frames: 0), overwrite: overwrite)
  }

  private func source(warmUp: UInt64, frames: UInt64) throws(RunError) -> BenchSource {
    let source: any Source = isFromSource ? try origin.make() : ClipSource(clip)
    return BenchSource(source, warmUp: warmUp, frames: frames, method.counters)
  }

  /// Rounds replace the files of the rounds before.
  private func engine(_ source: BenchSource, overwrite: Bool = true) throws(RunError) -> Engine {
    var options = RunOptions(workers: workers)
    options.warmUp = Self.warmUp
    options.measuresSource = isFromSource
    if method.keepsFrames {
      // A lane has a slice for unpacking, for each stage and for packing, and the source three at most.
      options.traceLimit = (chain.stages.count + 3) * Int(clamping: frames + Self.warmUp)
    }
    var sinks: [any Sink] = []
    for part in chain.sinks {
      var request = OutputRequest()
      request.overwrite = overwrite
      let sink = try origin.kinds.make(part, request)
      guard (sink as? any Recorder)?.isOnDemand != true else {
        throw RunError(
          .usage,
          "--sink \(part.kind): it writes what is asked for, and a benchmark asks for nothing; leave out "
            + "{n} and what begins, ends or splits recordings", change: .sink)
      }
      sinks.append(sink)
    }
    if sinks.isEmpty { sinks = [NullSink()] }
    return try Engine(source: source, stages: chain.stages, sinks: sinks, options: options)
  }

  /// Measures a round, and the yardstick before it. Returns false if a signal ended it.
  mutating func addRound(_ signals: inout StopSignals) throws(RunError) -> Bool {
    if BenchMachine.isOptimized {
      let work = try BenchCase(
        BenchChain(stages: [StageChoice(BenchYardstick.plugin)], sinks: []), clip, origin,
        isFromSource: false, workers: 1, frames: BenchYardstick.frames)
      guard let found = try work.measure(&signals) else { return false }
      yardstick.append(found.steps.last?.duration.buckets.interpolated(Self.lowPercent) ?? 0)
    }
    guard let found = try measure(&signals) else {
      // A round that was stopped has a yardstick and no result.
      yardstick = Array(yardstick.prefix(rounds.count))
      return false
    }
    rounds.append(found)
    return true
  }

  /// Runs the engine once; `nil` if a signal ended the run.
  func measure(_ signals: inout StopSignals) throws(RunError) -> BenchRound? {
    let source = try source(warmUp: Self.warmUp, frames: frames)
    let engine = try engine(source)
    let touched = engine.touchedBytes(source: clip.meanBytes)
    let tellsPeak = forgetPeakMemory()
    guard try engine.finish(&signals) else { return nil }
    let summary = engine.summary
    if let error = summary.errors.first { throw error }
    let fates = summary.ledger.entries.first { $0.counts[.delivered] == 0 }.map { entry in
      Fate.allCases.filter { entry.counts[$0] > 0 }.map { "\(entry.counts[$0]) \($0.name)" }
        .joined(separator: ", ")
    }
    if let fates, !chain.sinks.isEmpty, source.taken > 0 {
      throw RunError(
        .failed, "\(name): a sink got no frame (\(fates)), so that there is nothing to measure")
    }
    guard source.end != nil || chain.sinks.isEmpty else {
      throw RunError(
        .usage,
        "\(name): a sink had all that it was asked for after \(source.taken) frames, and a round has "
          + "\(frames + Self.warmUp); let it take more", change: .sink)
    }
    guard let first = source.first, let end = source.end, source.measured > 0 else {
      throw RunError(
        .failed,
        "\(summary.source.name) ended within the first \(Self.warmUp) frames, which are not measured; give a "
          + "longer one", change: .source)
    }
    var round = BenchRound(
      summary, touched, ownSinks: !chain.sinks.isEmpty, frames: source.measured, from: first,
      to: end)
    round.dropped = fates
    if tellsPeak { round.peakMemory = peakMemory() }
    round.trace = engine.trace
    return round
  }

  private var texts: [String] {
    (isFromSource ? [partText("source \(origin.part.kind)", origin.part.settings)] : [])
      + chain.texts
  }

  var name: String {
    let format = clip.source.format
    return BenchResult.Case.name(
      texts, format.pixelFormat.settingText, format.width, format.height, workers)
  }

  /// `nil` before the first round.
  func result(countsAllocations: Bool) -> BenchResult.Case? {
    guard let first = rounds.first else { return nil }
    let format = clip.source.format
    return BenchResult.Case(
      chain: texts, format: format.pixelFormat.settingText, width: format.width,
      height: format.height, workers: workers, frames: rounds.map(\.frames).min() ?? frames,
      pictures: clip.period,
      framesPerSecond: Rounds(rounds.map(\.framesPerSecond)),
      cpuMicroseconds: Rounds(rounds.map(\.cpuMicroseconds)),
      yardstick: yardstick.isEmpty ? nil : Rounds(yardstick),
      peakMemory: rounds.compactMap(\.peakMemory).max(),
      instructions: counted(0), cycles: counted(1), cacheMisses: counted(2),
      // The minimum: in some rounds a thread also makes a type's metadata, which allocates.
      allocationsPerFrame: countsAllocations ? rounds.map(\.allocationsPerFrame).min() : nil,
      steps: first.steps.indices.map(result(of:)), disturbance: rounds.map(\.disturbance))
  }

  /// An event of `BenchMethod.events` per frame; `nil` if it is not counted.
  private func counted(_ event: Int) -> Rounds? {
    let counts = rounds.compactMap { $0.counts?[event] }
    return counts.count == rounds.count ? Rounds(counts) : nil
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
  /// Measured frames.
  let frames: UInt64
  let seconds, framesPerSecond, cpuMicroseconds, allocationsPerFrame: Double
  let disturbance: BenchDisturbance
  /// Events per frame.
  let counts: [Double]?
  /// In bytes.
  var peakMemory: Int?
  /// What became of the frames, if none passed the stages.
  var dropped: String?
  /// Until the frames are written.
  var trace: Trace?

  /// `ownSinks`: sinks were asked for, and are steps.
  init(
    _ summary: RunSummary, _ touched: [TouchedBytes], ownSinks: Bool, frames: UInt64,
    from first: BenchMoment, to end: BenchMoment
  ) {
    self.frames = frames
    let count = Double(frames)
    seconds = Double(end.time - first.time) / 1e9
    framesPerSecond = count / seconds
    cpuMicroseconds = Double(end.own - first.own) / 1000 / count
    allocationsPerFrame = Double(end.allocations - first.allocations) / count
    disturbance = BenchDisturbance(from: first, to: end)
    counts = first.counts.flatMap { before in
      end.counts.map { zip(before, $0).map { ($1 - $0) / count } }
    }
    let lines = summary.timedStages
    var steps = touched.compactMap { step in
      lines.first { $0.name == step.step }.map { (step, $0.duration) }
    }
    if let taking = summary.taking { steps.insert((TouchedBytes(step: "source"), taking), at: 0) }
    if let pack = summary.pack { steps.append((TouchedBytes(step: "pack"), pack)) }
    for sink in ownSinks ? summary.sinks : [] {
      steps.append((TouchedBytes(step: "sink \(sink.name)"), sink.writing))
    }
    self.steps = steps
  }
}

/// The peak of resident memory since it was forgotten, in bytes; see proc(5), status.
private func peakMemory() -> Int? {
  let line = kernelText("/proc/self/status")?.split(separator: "\n").first {
    $0.hasPrefix("VmHWM:")
  }
  return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    .map { $0 * 1024 }
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
  /// The stage as `--stage` spells it.
  var text: String { partText(plugin.name, settings) }
}

/// A part as an option spells it, with settings sorted by name.
private func partText(_ name: String, _ settings: any KindSettings) -> String {
  let chosen = settings.chosen.sorted { $0.name < $1.name }.map { "\($0.name)=\($0.text)" }
  return name + (chosen.isEmpty ? "" : ":" + chosen.joined(separator: ","))
}
