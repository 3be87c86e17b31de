internal import SprocketCore
internal import Synchronization

// What the run's thread does, from start to end.
extension Engine {
  func run() {
    let start = startTime.load(ordering: .relaxed)
    let pump = SourcePump(
      source: gate, epoch.source, options: options, shared: shared, start: start)
    startAudio(pump)
    pump.beginEpoch()
    while runEpoch(pump) {}
    shared.changes.close()
    isClosing = true
    onSource(pump) { pump.close() }
    let (unused, untold) = recordings.close()
    if untold > 0 {
      shared.tellShort("the run ended before the frame of \(untold) recordings that were asked for")
    }
    finish(upTo: pump.nextNumber)
    awaitLeaving()
    completeFiles(unused)
    collectAllLeft()
    endAudio(pump)
    seal()
    tellIfNothingCame(pump)
    taking = gate.isAbandoned ? nil : pump.tracer.summary
    elapsed = monotonicNow() - start
    // Sums are clamped: a preloaded library that changes the date, such as faketime, changes the CPU clocks
    // of threads, too.
    let kept = threadCPUTime().clampedSum(sourceThread.cpuTime)
    engineCPU = sinks.reduce(engineCPU.clampedSum(kept)) { $0.clampedSum($1.thread.cpuTime) }
    // Read after the times of the threads, so that the process has not used less than their sum.
    processCPU = processCPUTime() - startCPU
    publishEnd()
  }

  /// What follows an epoch.
  private enum Next {
    case end
    /// The source as it is from now on.
    case epoch(SourceDescription)
    case change(ShapeChange)

    var kind: (isEnd: Bool, isChange: Bool) {
      switch self {
      case .end: (true, false)
      case .epoch: (false, false)
      case .change: (false, true)
      }
    }

    var change: ShapeChange? { if case .change(let change) = self { change } else { nil } }
  }

  /// One epoch, from the start of its threads to their end. True when another one is to follow.
  private func runEpoch(_ pump: SourcePump) -> Bool {
    let threads = prepared.take() ?? EpochThreads(epoch)
    pump.enter(epoch)
    var next = Next.end
    do throws(RunError) {
      try threads.start(options, makeUnpacker: makeUnpacker)
      next = produce(pump)
      if next.kind.isEnd { limitAudio(pump) }
    } catch {
      shared.fail(error)
    }
    if let refusal = end(pump, threads, next) {
      if case .change(let change) = next { change.finish(.refused(refusal)) }
      return false
    }
    switch next {
    case .end: return false
    case .epoch(let source): return beginEpoch(source, pump)
    case .change(let change): return carryOut(change, pump)
    }
  }

  /// Lets the source deliver frames until the epoch ends.
  private func produce(_ pump: SourcePump) -> Next {
    while true {
      let began = monotonicNow()
      let isBack = onSource(pump) { [epoch] in pump.run(epoch) }
      producing += monotonicNow() - began
      guard isBack, !pump.isOver else { return .end }
      switch pump.outcome {
      case .end: return .end
      case .epoch(let description): return .epoch(description)
      case .jump: return .epoch(epoch.source)
      case .change:
        // The caller may have withdrawn the change. A change that was prepared for an earlier epoch is made
        // anew.
        guard let change = shared.changes.take() else { continue }
        if change.base === epoch { return .change(change) }
        change.finish(.outdated)
      }
    }
  }

  /// Makes the epoch that follows when the source has changed by itself. False when the run ends.
  func beginEpoch(_ source: SourceDescription, _ pump: SourcePump) -> Bool {
    for state in behind { state.leave(shared, endsRun: true) }
    for (index, stage) in stages.enumerated() {
      for instance in stage.instances { instance.store(pump.settings, stage: index) }
    }
    do throws(RunError) {
      epoch = try makeEpoch(
        EpochRequest(
          index: epochCount, generation: pump.generation, source: source,
          firstNumber: pump.firstNumber, stages: stages,
          sinks: sinks.enumerated().map { SinkPlace($1, index: $0) }, reportBytes: reportBytes,
          refusal: .endsSink))
      epochCount += 1
      publishEpoch()
      return true
    } catch {
      shared.fail(error)
      return false
    }
  }

  func makeEpoch(_ request: EpochRequest) throws(RunError) -> Epoch {
    try Self.makeEpoch(
      request, options: options, memoryLimit: memoryLimit, shared: shared,
      makeUnpacker: makeUnpacker)
  }

  /// Publishes the epoch's end and waits until it has drained; a live run then goes on without the sinks that
  /// block. Returns why the run cannot go on, if it is to.
  private func end(_ pump: SourcePump, _ threads: EpochThreads, _ next: Next) -> RunError? {
    let (isLast, isChange) = next.kind
    let change = next.change
    epoch.endNumber.store(pump.nextNumber, ordering: .releasing)
    epoch.isLast.store(isLast, ordering: .releasing)
    pump.endEpoch()
    // If the source stays, its sequence numbers continue, so that a gap is counted.
    if !isChange { pump.beginEpoch() }
    pump.isDraining.store(true, ordering: .releasing)
    watch = SourceWatch()
    if !gate.isAbandoned {
      sourceThread.perform { [epoch] in
        if isChange { pump.hold(epoch) } else { pump.leave(epoch, goesOn: !isLast) }
      }
    }
    let limit = options.drainLimit.nanosecondCount
    let haveLanesEnded = threads.drain(
      isChange && epoch.source.isLive ? .init(changeWithin: limit) : .init(limit: limit),
      shared: shared,
      blocked: change?.blocked ?? []
    ) {
      watchSource(pump)
    }
    pump.isDraining.store(false, ordering: .releasing)
    engineCPU = engineCPU.clampedSum(threads.cpuTime)
    watch = SourceWatch()
    let isBack = awaitSource(pump)
    let late = epoch.sinks.filter { threads.late.contains($0.state.id) }
    guard haveLanesEnded, late.isEmpty || !isLast && epoch.source.isLive else {
      for place in late {
        place.state.isStuck = true
        shared.tellStuck(thread: place.sink.name)
      }
      hasStuckThreads = true
      return RunError(.failed, "a thread of the run did not come to an end, so the run ends")
    }
    timers.add(threads, epoch)
    // What a late sink may still read is neither given back nor discarded.
    let isRead = !late.isEmpty
    guard isBack, onSource(pump, { [epoch] in pump.reclaimAll(epoch, isRead: isRead) }) else {
      return RunError(.failed, "the source did not return from a call, so the run ends")
    }
    if !isLast, !isRead { epoch.memory.discard() }
    leaveBehind(late, asked: change?.detached ?? [], at: pump.nextNumber)
    return nil
  }

  // MARK: The end

  /// Finishes the stages, and the sinks that did not finish with the last epoch because it could
  /// not be made. Does not touch what a stuck thread may still use.
  private func finish(upTo number: UInt64) {
    let unfinished = present.filter { !$0.state.isStuck && !$0.state.hasFinished }
    for place in unfinished {
      let worker = SinkWorker(epoch: epoch, place: place, options: options)
      place.state.thread.perform { worker.conclude(upTo: number) }
    }
    awaitSinks(unfinished.map(\.state))
    if !hasStuckThreads { finishStages() }
  }

  /// Most notes of stages that are kept: stages may be replaced many times. Larger: longer summaries.
  private static let keptNotes = 10_000

  /// Finishes the stages and collects their notes.
  func finishStages() {
    for stage in stages {
      RunningCode(["stage `\(stage.name)`"], of: shared.label).during {
        for instance in stage.instances {
          instance.stage.finish()
          // Workers of one stage may return equal notes.
          let new = instance.stage.notes.filter { !stageNotes.contains($0) }
          stageNotes += new.prefix(Self.keptNotes - stageNotes.count)
          for failure in instance.stage.failures { shared.fail(RunError(.failed, failure)) }
        }
      }
    }
  }

  /// Waits until the files of recordings are complete. Frames that were written and then lost with their
  /// file become `failed`.
  private func completeFiles(_ unused: [RecordingList.Job]) {
    guard let finisher else { return }
    for job in unused {
      job.record.reason = .end
      finisher.add(job)
    }
    for job in finisher.drain(limit: options.drainLimit.nanosecondCount) {
      shared.fail(
        RunError(
          .failed, "the file \(job.record.path) could not be completed in time; look at its disk"))
      recordings.leave(job)
    }
    for state in sinks where state.isStuck { recordings.leaveCurrent(sink: state.id) }
    for state in sinks where !state.isStuck { state.takeLost(recordings) }
  }

  /// Gives the account to sinks that store it.
  private func seal() {
    let entries = ledger.entries
    let produced = shared.counters.produced.now
    let whole = sinks.filter { !$0.isStuck && !$0.hasFailed }
    for state in whole {
      // These counts are used if `seal` does not return.
      state.sealedCounts = state.counts
      state.thread.perform { [shared] in
        state.seal(entries, state.firstNumber..<produced, shared)
      }
    }
    awaitSinks(whole)
  }

  /// Waits for the jobs of all these sinks together. Those that do not end are stuck.
  func awaitSinks(_ waiting: [SinkState]) {
    waitFor(waiting)
    for state in waiting where !state.thread.isIdle {
      state.isStuck = true
      tellStuck(state)
    }
  }

  func tellStuck(_ state: SinkState) {
    shared.fail(
      RunError(
        .failed,
        "the sink `\(state.sink.name)` did not finish; look at what it waits for: a disk, or a reader"
      ))
  }

  /// Waits for the threads of sinks: for the drain limit at most, and after a flush for twice
  /// `EpochThreads.graceNanoseconds` at most.
  func waitFor(_ waiting: [SinkState]) {
    var end = deadline(in: options.drainLimit.nanosecondCount)
    var isHurried = false
    while let state = waiting.first(where: { !$0.thread.isIdle }) {
      let now = monotonicNow()
      if shared.isFlushing, !isHurried {
        isHurried = true
        end = min(end, now + 2 * EpochThreads.graceNanoseconds)
      }
      guard now < end else { break }
      _ = state.thread.wait(until: min(end, now + Waiter.boundNanoseconds))
    }
  }
}
