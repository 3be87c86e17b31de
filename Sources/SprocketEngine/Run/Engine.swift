public import SprocketCore
internal import SprocketRing
internal import Synchronization

/// One run: a source, a chain of stages, sinks, and everything between them.
///
/// `init` opens the source and configures all stages and sinks for the first epoch, so errors in the
/// request are reported before the first frame. `start` begins the run, `wait` waits for its end, `stop`
/// ends it; `progress` and `summary` report its state. All of them may be called from any thread, at any
/// time. A run is used once; one that is never started closes its source when it is released.
///
/// Threads: one for the run, which makes epochs and ends them; one for the source; one per worker of each
/// lane; one per sink. `init` starts all threads except those of lanes. So sinks can be finished even if a
/// lane's thread cannot be started. Every wait at the end has a limit. After it the run abandons a source
/// that does not return from a call (`SourceGate`), and lanes and sinks that do not end.
///
/// Keeps R9 of the ring's contract: a change of format, a replug or a jump of the sequence begins an
/// epoch. The old one's threads are drained and joined as at the end of the run, so that nothing is
/// pinned or lent but what sinks read that block (`LeavingGroup`); the new one has a ring, a memory and lanes
/// of its own, and its first frame is a discontinuity. What a live source delivers meanwhile is `overrun`, of
/// the epoch to come.
///
/// Unchecked: what changes after `start` belongs to the run's thread; what others may ask for is atomic or
/// under a lock (`shared`, `published`).
public final class Engine: @unchecked Sendable {
  /// The source, which a change of the run's shape may replace.
  var gate: SourceGate
  let options: RunOptions
  /// The sound that goes with the pictures. It begins before them, and ends when all sinks have finished.
  public var audio: [AudioEngine] { sounds.withLock(\.engines) }
  let sounds: Locked<RunSounds>
  /// What the stages were made of: for a change of the source alone.
  var choices: [StageChoice]
  var stages: [ChainStage]
  /// The sinks that are attached.
  var sinks: [SinkState]
  /// Sinks that have left the run and have not finished.
  var leaving: [LeavingGroup] = []
  /// Sinks of the present epoch that blocked at its end, and their companions.
  var behind: [SinkState] = []
  /// The sinks of the present epoch that are part of the run.
  var present: [SinkPlace] { epoch.sinks(without: behind) }
  /// Accounts of detached sinks that have finished.
  var left = DetachedLines()
  let shared: RunShared
  let recordings: RecordingList
  /// Holds `nil` in a run that never had an on-demand sink.
  let finishing = Locked<Finisher?>(nil)
  var finisher: Finisher? { finishing.withLock { $0 } }
  let makeUnpacker: @Sendable () -> any Unpacker
  var reportBytes: Int
  let memoryLimit: MemoryLimit
  var epoch: Epoch
  var epochCount: UInt32 = 1
  /// Number of sinks that were made so far.
  let sinkCount: Atomic<Int>
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
  /// Time of the source per frame, where that was measured.
  var taking: DurationSummary?
  /// CPU time of the process before the run made its first thread.
  let startCPU = processCPUTime()
  var processCPU: Int64 = 0
  /// Notes of the stages, collected at the end.
  var stageNotes: [String] = []
  /// How the run is laid out and what has been measured. Set by the run's thread, at each epoch and at the
  /// end.
  private let published: Locked<PublishedSummary>
  private let publications = Atomic<Int>(0)
  /// 1 once the summary is complete.
  let isOver = FutexWord()

  /// Threads of the epoch that begins next, if it was made by a change.
  var prepared: EpochThreads?
  /// Time on the monotonic clock at which the opening of a new source is interrupted; `nil` if no source is
  /// being opened.
  var openingEnd: Int64?

  public init(
    source: any Source, stages choices: [StageChoice], sinks: [any Sink], options: RunOptions,
    audio: [AudioEngine] = [], makeUnpacker: @escaping @Sendable () -> any Unpacker
  ) throws(RunError) {
    gate = SourceGate(source)
    self.options = options
    sounds = Locked(RunSounds(engines: audio))
    self.makeUnpacker = makeUnpacker
    self.choices = choices
    (stages, reportBytes) = try Self.makeStages(choices, workers: options.workers)
    let sinks = sinks.flatMap { [$0] + $0.companions }
    try Self.checkNames(sinks)
    runThread = try JobThread("run")
    sourceThread = try JobThread("source")
    let shared = RunShared(sinks: sinks, options: options)
    self.shared = shared
    shared.settings.setChain(stages)
    let recordings = RecordingList(shared.port, shared.bell)
    self.recordings = recordings
    var states: [SinkState] = []
    for (index, sink) in sinks.enumerated() {
      let state = try SinkState(id: index, sink: sink, among: sinks)
      try state.makeRecordings(recordings, shared, finishing)
      recordings.attach(state)
      states.append(state)
    }
    self.sinks = states
    sinkCount = Atomic(states.count)
    timers = StageTimers(stages: stages)
    memoryLimit = MemoryLimit(asked: options.memoryLimit, sharers: options.memorySharers)
    let description = try RunningCode(["source"], of: options.label).during {
      () throws(RunError) in try source.open()
    }
    do throws(RunError) {
      try Self.checkPace(of: audio, beside: description)
      epoch = try Self.makeEpoch(
        EpochRequest(
          index: 0, generation: 0, source: description, firstNumber: 0, stages: stages,
          sinks: states.enumerated().map { SinkPlace($1, index: $0) }, reportBytes: reportBytes,
          refusal: .throwsError),
        options: options, memoryLimit: memoryLimit, shared: shared, makeUnpacker: makeUnpacker)
    } catch {
      try? source.close()
      throw error
    }
    published = Locked(PublishedSummary(epoch, gate, choices, epochs: 1, timers))
  }

  deinit {
    guard startTime.load(ordering: .relaxed) == 0 else { return }
    try? gate.source.close()
    for state in sinks { state.sink.interrupt() }
  }

  /// What the source turned out to be, in this epoch.
  public var description: SourceDescription { current.summary.source }

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
    guard isSecond else { return }
    let current = current
    for state in current.sinks.map(\.state) + current.leaving { state.sink.interrupt() }
    for engine in audio { engine.stop() }
  }

  /// Ends the run as the end of its source does: all frames so far are processed. May be called repeatedly:
  /// only a second `stop` flushes frames.
  package func end() { shared.raiseStop(to: 1) }

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
      delivered: current.sinks.map { $0.state.delivered.now })
  }

  /// What was published last, for any thread.
  var current: PublishedSummary {
    published.withLock { published in
      // Pairs with `publish`. The lock alone would do, but ThreadSanitizer does not see the lock of the
      // standard library's Mutex.
      _ = publications.load(ordering: .acquiring)
      return published
    }
  }

  /// Replaces what is published. On the run's thread.
  func publish(_ new: PublishedSummary) {
    published.withLock { published in
      published = new
      publications.wrappingAdd(1, ordering: .releasing)
    }
  }

  // MARK: Making a run

  /// Throws if two sinks have the same name: names are keys in the summary.
  static func checkNames(_ sinks: [any Sink], beside others: [any Sink] = []) throws(RunError) {
    for (index, sink) in sinks.enumerated()
    where (others + sinks[..<index]).contains(where: { $0.name == sink.name }) {
      throw RunError(
        .usage, "two sinks are called \(sink.name); leave one out, or give it another name")
    }
  }

  static func makeStages(_ choices: [StageChoice], workers: Int) throws(RunError) -> (
    [ChainStage], Int
  ) {
    var stages: [ChainStage] = []
    var offset = 0
    for choice in choices {
      let plugin = choice.plugin
      if let mistake = plugin.mistakes.first { throw mistake }
      // A program can pair a plug-in with settings of another one.
      guard type(of: choice.settings) == plugin.settingsType else {
        throw RunError(
          .usage,
          "the stage \(plugin.name) is given settings of another stage, \(type(of: choice.settings)); give "
            + "it \(plugin.settingsType)", change: SettingPath("stages", plugin.name))
      }
      try choice.settings.check(of: "the stage \(plugin.name)") {
        SettingPath("stages", plugin.name, $0)
      }
      guard !stages.contains(where: { $0.plugin == plugin.name }) else {
        throw RunError(
          .usage, "the stage \(plugin.name) is given twice; give it once", change: .stage)
      }
      for kind in plugin.stages {
        guard stages.count < 64 else { throw RunError(.usage, "a chain has at most 64 stages") }
        let slot = ReportSlot(offset: offset, bit: 1 << UInt64(stages.count))
        stages.append(
          ChainStage(
            name: plugin.stages.count == 1 ? plugin.name : "\(plugin.name)/\(kind.name)",
            plugin: plugin.name, kind: kind, workers: workers,
            settings: choice.settings, reportSlot: slot))
        offset += (kind.reportBytes + 63) / 64 * 64
      }
    }
    return (stages, offset)
  }
}
