public import SprocketCore
internal import SprocketRing
internal import Synchronization

/// One run: a source, a chain of stages, sinks, and everything between them.
///
/// `init` opens the source and configures everything for the first epoch, so that whatever is wrong
/// with the request is told before the first frame. `start` begins, `wait` waits, `stop` ends it
/// from any thread; `summary` says how it went. A run is used once.
///
/// Threads: one for the source, one per worker of each lane, one per sink.
///
/// Keeps R9 of the ring's contract: a change of format, a replug or a jump of the sequence begins an
/// epoch. The old one's threads are drained and joined as at the end of the run, so that nothing is
/// pinned or lent; the new one has a ring, a memory and threads of its own, and its first frame is a
/// discontinuity. What a live source delivers meanwhile is `overrun`, of the epoch to come.
///
/// Unchecked: what changes after `start` belongs to the source's thread until `wait` has seen its
/// end; `stop` and `progress` touch atomics alone.
public final class Engine: @unchecked Sendable {
  let source: any Source
  let options: RunOptions
  let stages: [ChainStage]
  let sinks: [SinkState]
  let shared: RunShared
  let makeUnpacker: @Sendable () -> any Unpacker
  let reportBytes: Int
  var epoch: Epoch
  var epochCount: UInt32 = 1
  var timers: StageTimers
  private var thread: EngineThread?
  private var hasStuckThreads = false
  private let requests = Atomic<Int>(0)
  private var nextFirstNumber: UInt64 = 0
  private var startTime: Int64 = 0
  private var startCPU: Int64 = 0
  private(set) var elapsed: Int64 = 0
  private(set) var processorTime: Int64 = 0
  /// What stages had to say at the end.
  private(set) var stageNotes: [String] = []

  public init(
    source: any Source, stages choices: [StageChoice], sinks: [any Sink], options: RunOptions,
    makeUnpacker: @escaping @Sendable () -> any Unpacker
  ) throws(RunError) {
    self.source = source
    self.options = options
    self.makeUnpacker = makeUnpacker
    (stages, reportBytes) = try Self.makeStages(choices, workers: options.workers)
    self.sinks = sinks.enumerated().map { SinkState(index: $0.offset, sink: $0.element) }
    shared = RunShared(sinks: sinks.count)
    timers = StageTimers(stages: stages)
    let description: SourceDescription
    do throws(SourceError) {
      description = try source.open()
    } catch {
      throw RunError(error.code == .usage ? .usage : .failed, error.description)
    }
    do throws(RunError) {
      epoch = try Self.makeEpoch(
        EpochRequest(index: 0, source: description, firstNumber: 0), stages: stages,
        sinks: self.sinks, options: options, shared: shared, reportBytes: reportBytes,
        makeUnpacker: makeUnpacker)
    } catch {
      source.close()
      throw error
    }
  }

  /// What the source turned out to be.
  public var description: SourceDescription { epoch.source }

  public func start() {
    startTime = monotonicNow()
    startCPU = processCPUTime()
    thread = EngineThread("source") { self.runSource() }
  }

  /// Asks the run to end: the source stops, what is under way is finished. Asked again: at once,
  /// what is under way is `flushed`. From any thread.
  public func stop() {
    // Counted apart: a run that ends for another reason has not been asked yet.
    shared.raiseStop(to: requests.wrappingAdd(1, ordering: .relaxed).newValue > 1 ? 2 : 1)
  }

  /// Waits for the end, for `limit` at most. True when the run is over.
  public func wait(for limit: Duration) -> Bool {
    thread?.join(until: monotonicNow() + limit.nanosecondCount) ?? true
  }

  public var progress: Progress {
    var lost = FateCounts()
    for (value, cell) in shared.counters.decided.enumerated() {
      if let entry = TapeEntry(value: UInt8(value)) { lost[entry.fate] += cell.now }
    }
    return Progress(
      produced: shared.counters.produced.now,
      elapsed: .nanoseconds(startTime == 0 ? 0 : monotonicNow() - startTime), lost: lost,
      delivered: shared.counters.delivered.map(\.now))
  }

  // MARK: The source's thread

  private func runSource() {
    let pump = SourcePump(
      source: source, isLive: epoch.source.isLive, options: options, shared: shared,
      start: startTime)
    var held: Arrival?
    pump.beginEpoch()
    while true {
      let threads = EpochThreads(epoch, options: options, makeUnpacker: makeUnpacker)
      var producer = epoch.ring.makeProducer()
      var outcome = SourcePump.Outcome.end
      do throws(SourceError) {
        outcome = try pump.run(epoch, producer: &producer, held: held)
      } catch {
        shared.fail(RunError(.failed, error.description))
      }
      guard let next = end(&producer, outcome, pump, threads, &held) else { break }
      do throws(RunError) {
        epoch = try Self.makeEpoch(
          EpochRequest(index: epochCount, source: next, firstNumber: nextFirstNumber),
          stages: stages, sinks: sinks, options: options, shared: shared, reportBytes: reportBytes,
          makeUnpacker: makeUnpacker)
        epochCount += 1
      } catch {
        shared.fail(error)
        break
      }
    }
    if case .frame = held { source.discard() }
    source.close()
    finish(upTo: pump.nextNumber)
    seal()
    elapsed = monotonicNow() - startTime
    processorTime = processCPUTime() - startCPU
  }

  /// Sinks that no thread has finished (the next epoch could not be made), and stages. What a stuck
  /// thread may still be using is left alone.
  private func finish(upTo number: UInt64) {
    for state in sinks where !state.hasFinished && !state.isStuck {
      SinkWorker(epoch: epoch, state: state, wait: options.wait).conclude(upTo: number)
    }
    guard !hasStuckThreads else { return }
    for instance in stages.flatMap(\.instances) {
      instance.stage.finish()
      // Workers of one stage may say the same.
      stageNotes += instance.stage.notes.filter { !stageNotes.contains($0) }
    }
  }

  /// Gives the account to sinks that store it. Each has the time that draining may take.
  private func seal() {
    let ledger = ledger
    for state in sinks where !state.hasFailed && !state.isStuck {
      let thread = EngineThread(state.sink.name) { [shared] in
        do throws(SinkError) {
          try state.sink.seal(ledger)
        } catch {
          state.fail(error, shared, isFinishing: true)
        }
      }
      if thread.join(until: monotonicNow() + options.drainLimit.nanosecondCount) { continue }
      // It may still write; what it counted before stands.
      state.sealedCounts = state.counts
      state.isStuck = true
      shared.fail(
        RunError(
          .failed, "the sink `\(state.sink.name)` did not finish; look at what it waits for"))
    }
  }

  /// Publishes the epoch's end and waits until it has drained. Returns the next epoch's source, if
  /// there is to be one.
  ///
  /// What a live source delivers meanwhile is `overrun`, and belongs to the next epoch; what else it
  /// says is `held`.
  private func end(
    _ producer: inout Producer, _ outcome: SourcePump.Outcome, _ pump: SourcePump,
    _ threads: EpochThreads, _ held: inout Arrival?
  ) -> SourceDescription? {
    held = nil
    var next: SourceDescription?
    switch outcome {
    case .end: break
    case .epoch(let description): next = pump.isOver ? nil : description
    case .jump: next = pump.isOver ? nil : epoch.source
    }
    epoch.endNumber.store(pump.nextNumber, ordering: .releasing)
    epoch.isLast.store(next == nil, ordering: .releasing)
    nextFirstNumber = pump.nextNumber
    producer.end()
    pump.beginEpoch()
    if case .jump(let frame) = outcome {
      if next == nil {
        source.discard()
      } else if epoch.source.isLive {
        pump.overrun(frame)
      } else {
        held = .frame(frame)
      }
    }
    var heldMeanwhile = held
    let isDrained = threads.drain(limit: options.drainLimit.nanosecondCount, shared: shared) {
      guard next != nil, epoch.source.isLive, heldMeanwhile == nil else { return false }
      heldMeanwhile = pump.discardOne()
      return true
    }
    held = heldMeanwhile
    guard isDrained else {
      hasStuckThreads = true
      return nil
    }
    timers.add(threads, epoch)
    pump.reclaimAll(epoch)
    return next
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
          "--stage \(plugin.name) has no setting `\(key)`; "
            + knownNames(known, near: key, "it has"))
      }
      guard !stages.contains(where: { $0.plugin == plugin.name }) else {
        throw RunError(.usage, "--stage \(plugin.name) is given twice; give it once")
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
    var late: UInt64 = 0
    var rejected: UInt64 = 0
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
          stages[stage].histogram.add(worker.timers[index])
          stages[stage].late += worker.late[index]
          stages[stage].rejected += worker.rejected[index]
        case .unpack: unpack.histogram.add(worker.timers[index])
        case .pack, .packSource: pack.histogram.add(worker.timers[index])
        case .select: break
        }
      }
    }
  }
}
