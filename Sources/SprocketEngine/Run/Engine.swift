public import SprocketCore
internal import SprocketRing
internal import Synchronization

/// One run: a source, a chain of stages, sinks, and everything between them.
///
/// `init` opens the source and configures all stages and sinks for the first epoch, so errors in the request
/// are reported before the first frame. `start` begins the run, `wait` waits for its end, `stop` ends it;
/// `progress` and `summary` report its state. All of them may be called from any thread, at any time. A run
/// is used once; one that is never started closes its source when it is released.
///
/// Threads: one for the run, which makes epochs and ends them; one for the source; one per worker of each
/// lane; one per sink. `init` starts all threads except those of lanes. So sinks can be finished even if a
/// lane's thread cannot be started. Every wait at the end has a limit. After it the run abandons a source
/// that does not return from a call (`SourceGate`), and lanes and sinks that do not end.
///
/// Keeps R9 of the ring's contract: a change of format, a replug or a jump of the sequence begins an
/// epoch. The old one's threads are drained and joined as at the end of the run, so that nothing is
/// pinned or lent; the new one has a ring, a memory and lanes of its own, and its first frame is a
/// discontinuity. What a live source delivers meanwhile is `overrun`, of the epoch to come.
///
/// Unchecked: what changes after `start` belongs to the run's thread; what others may ask for is atomic or
/// under a lock (`shared`, `published`).
public final class Engine: @unchecked Sendable {
  let source: any Source
  let gate: SourceGate
  let options: RunOptions
  let stages: [ChainStage]
  let sinks: [SinkState]
  let shared: RunShared
  let recordings: RecordingList
  /// `nil` in a run without on-demand sinks.
  let finisher: Finisher?
  let makeUnpacker: @Sendable () -> any Unpacker
  let reportBytes: Int
  let memoryLimit: MemoryLimit
  var epoch: Epoch
  var epochCount: UInt32 = 1
  var timers: StageTimers
  let runThread: JobThread
  let sourceThread: JobThread
  var hasStuckThreads = false
  var watch = SourceWatch()
  /// The source is asked to close, and nothing else any more.
  var isClosing = false
  private let requests = Atomic<Int>(0)
  /// When `start` was called, 0 before.
  let startTime = Atomic<Int64>(0)
  var elapsed: Int64 = 0
  /// Nanoseconds during which the source was asked for frames.
  var producing: Int64 = 0
  /// CPU time of the lanes' threads of epochs that are over; at the end, of all threads of the run.
  var engineCPU: Int64 = 0
  /// CPU time of the process before the run made its first thread.
  let startCPU = processCPUTime()
  var processCPU: Int64 = 0
  /// Notes of the stages, collected at the end.
  var stageNotes: [String] = []
  /// How the run is laid out and what has been measured. Set by the run's thread, at each epoch and at the
  /// end.
  let published: Mutex<PublishedSummary>
  /// 1 once the summary is complete.
  let isOver = FutexWord()

  public init(
    source: any Source, stages choices: [StageChoice], sinks: [any Sink], options: RunOptions,
    makeUnpacker: @escaping @Sendable () -> any Unpacker
  ) throws(RunError) {
    self.source = source
    gate = SourceGate(source)
    self.options = options
    self.makeUnpacker = makeUnpacker
    (stages, reportBytes) = try Self.makeStages(choices, workers: options.workers)
    let sinks = sinks.flatMap { [$0] + $0.companions }
    // Names are keys in the summary.
    for (index, sink) in sinks.enumerated()
    where sinks[..<index].contains(where: { $0.name == sink.name }) {
      throw RunError(
        .usage, "two sinks are called \(sink.name); leave one out, or give it another name")
    }
    runThread = try JobThread("run")
    sourceThread = try JobThread("source")
    var states: [SinkState] = []
    for (index, sink) in sinks.enumerated() {
      states.append(try SinkState(index: index, sink: sink))
    }
    self.sinks = states
    let shared = RunShared(sinks: sinks, options: options)
    self.shared = shared
    recordings = RecordingList(states, shared.port)
    finisher = states.contains(where: \.isOnDemand) ? try Finisher(recordings, shared) : nil
    for state in states {
      guard let recorder = state.recorder, let stamped = state.stamped, let finisher else {
        continue
      }
      state.recordings = try SinkRecorder(
        state, recorder, stamped, list: recordings, finisher: finisher, shared: shared)
    }
    timers = StageTimers(stages: stages)
    memoryLimit = MemoryLimit(asked: options.memoryLimit)
    let description = try source.open()
    do throws(RunError) {
      epoch = try Self.makeEpoch(
        EpochRequest(index: 0, source: description, firstNumber: 0, memoryLimit: memoryLimit),
        stages: stages, sinks: states, options: options, shared: shared, reportBytes: reportBytes,
        makeUnpacker: makeUnpacker)
    } catch {
      try? source.close()
      throw error
    }
    published = Mutex(PublishedSummary(epoch, epochs: 1, timers))
  }

  deinit {
    guard startTime.load(ordering: .relaxed) == 0 else { return }
    try? source.close()
    for state in sinks { state.sink.interrupt() }
  }

  /// What the source turned out to be, in this epoch.
  public var description: SourceDescription { published.withLock { $0.summary.source } }

  /// Begins the run, and returns at once. Throws if that was done before.
  public func start() throws(RunError) {
    let (isFirst, _) = startTime.compareExchange(
      expected: 0, desired: monotonicNow(), ordering: .relaxed)
    guard isFirst else {
      throw RunError(.usage, "this run was started before; make another Engine for another run")
    }
    runThread.perform { self.run() }
  }

  /// Asks the run to end: the source stops, and frames under way are finished. A second call ends
  /// it at once: frames under way become `flushed`. May be called from any thread.
  public func stop() {
    // Counted apart: a run that ends for another reason has not been asked yet.
    let isSecond = requests.wrappingAdd(1, ordering: .relaxed).newValue > 1
    shared.raiseStop(to: isSecond ? 2 : 1)
    if isSecond { for state in sinks { state.sink.interrupt() } }
  }

  /// Waits for the end, for `limit` at most. True when the run is over; false for one that was not started.
  public func wait(for limit: Duration) -> Bool {
    isOver.wait(while: 0, until: deadline(in: limit.nanosecondCount))
  }

  /// A sentence for the user while the run goes on, such as that no frame comes.
  public var notice: String? { shared.notice.withLock { $0 } }

  /// The steps of every thread on every frame; `nil` before the end of the run, and unless
  /// `RunOptions.traceLimit` is set.
  public var trace: Trace? { isOver.value == 1 ? shared.trace : nil }

  public var progress: Progress {
    var lost = FateCounts()
    for (value, cell) in shared.counters.decided.enumerated() {
      if let entry = TapeEntry(value: UInt8(value)) { lost[entry.fate] += cell.now }
    }
    let start = startTime.load(ordering: .relaxed)
    return Progress(
      produced: shared.counters.produced.now,
      elapsed: .nanoseconds(start == 0 ? 0 : monotonicNow() - start), lost: lost,
      delivered: shared.counters.delivered.map(\.now))
  }

  // MARK: Making a run

  private static func makeStages(_ choices: [StageChoice], workers: Int) throws(RunError) -> (
    [ChainStage], Int
  ) {
    var stages: [ChainStage] = []
    var offset = 0
    for choice in choices {
      let plugin = choice.plugin
      let known = plugin.settings.map(\.name)
      for key in choice.values.keys.sorted() where !known.contains(key) {
        throw RunError(
          .usage,
          "the stage \(plugin.name) has no setting `\(key)`; "
            + knownNames(known, near: key, "it has"), change: .stage)
      }
      guard !stages.contains(where: { $0.plugin == plugin.name }) else {
        throw RunError(
          .usage, "the stage \(plugin.name) is given twice; give it once", change: .stage)
      }
      for kind in plugin.stages {
        guard stages.count < 64 else { throw RunError(.usage, "a chain has at most 64 stages") }
        let slot = ReportSlot(offset: offset, bit: 1 << UInt64(stages.count))
        stages.append(
          try ChainStage(
            name: plugin.stages.count == 1 ? plugin.name : "\(plugin.name)/\(kind.name)",
            plugin: plugin.name, kind: kind, workers: workers, values: choice.values,
            reportSlot: slot))
        offset += (kind.reportBytes + 63) / 64 * 64
      }
    }
    return (stages, offset)
  }
}

/// What is measured per stage, over all epochs.
struct StageTimers {
  struct Line {
    var name: String
    var histogram = DurationHistogram()
    var processor = CPUSample()
    var late: UInt64 = 0
    var rejected: UInt64 = 0

    var summary: DurationSummary {
      var summary = histogram.summary
      summary.cpu = processor.microseconds
      return summary
    }

    /// `nil` where nothing was measured.
    var presentSummary: DurationSummary? {
      let summary = summary
      return summary.count == 0 ? nil : summary
    }

    mutating func add(_ worker: LaneWorker, step: Int) {
      histogram.add(worker.meter.timers[step])
      processor.add(worker.meter.processor[step])
    }
  }
  var stages: [Line]
  var unpack = Line(name: "unpack")
  var pack = Line(name: "pack")

  init(stages: [ChainStage]) { self.stages = stages.map { Line(name: $0.name) } }

  mutating func add(_ threads: EpochThreads, _ epoch: Epoch) {
    for (lane, worker) in threads.workers {
      for (index, step) in epoch.plan.lanes[lane].steps.enumerated() {
        switch step {
        case .stage(let stage):
          stages[stage].add(worker, step: index)
          stages[stage].late += worker.late[index]
          stages[stage].rejected += worker.rejected[index]
        case .unpack, .unpackAsked: unpack.add(worker, step: index)
        case .pack, .packSource: pack.add(worker, step: index)
        case .select: break
        }
      }
    }
  }
}
