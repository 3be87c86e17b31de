internal import SprocketCore
internal import Synchronization

// What the run's thread does, from start to end.
extension Engine {
  func run() {
    let start = startTime.load(ordering: .relaxed)
    let pump = SourcePump(
      source: gate, isLive: epoch.source.isLive, options: options, shared: shared, start: start,
      stages: stages, sinks: sinks)
    pump.beginEpoch()
    while runEpoch(pump) {}
    isClosing = true
    onSource(pump) { pump.close() }
    let unused = recordings.close()
    finish(upTo: pump.nextNumber)
    completeFiles(unused)
    seal()
    tellIfNothingCame(pump)
    elapsed = monotonicNow() - start
    let kept = threadCPUTime() + sourceThread.cpuTime
    engineCPU = sinks.reduce(engineCPU + kept) { $0 + $1.thread.cpuTime }
    // Read after the times of the threads, so that the process has not used less than their sum.
    processCPU = processCPUTime() - startCPU
    publishEnd()
  }

  /// One epoch, from the start of its threads to their end. True when another one is to follow.
  private func runEpoch(_ pump: SourcePump) -> Bool {
    let threads = EpochThreads(epoch)
    pump.enter(epoch)
    let ended: Bool
    do throws(RunError) {
      try threads.start(options, makeUnpacker: makeUnpacker)
      let began = monotonicNow()
      ended = onSource(pump) { [epoch] in pump.run(epoch) }
      producing += monotonicNow() - began
    } catch {
      shared.fail(error)
      ended = false
    }
    guard let next = end(pump, threads, goesOn: ended) else { return false }
    for (index, stage) in stages.enumerated() {
      for instance in stage.instances { instance.store(pump.settings, stage: index) }
    }
    do throws(RunError) {
      epoch = try Self.makeEpoch(
        EpochRequest(
          index: epochCount, source: next, firstNumber: pump.firstNumber, memoryLimit: memoryLimit),
        stages: stages, sinks: sinks, options: options, shared: shared, reportBytes: reportBytes,
        makeUnpacker: makeUnpacker)
      epochCount += 1
      publishEpoch()
      return true
    } catch {
      shared.fail(error)
      return false
    }
  }

  /// Publishes the epoch's end and waits until it has drained. Returns the next epoch's source, if
  /// there is to be one.
  private func end(_ pump: SourcePump, _ threads: EpochThreads, goesOn: Bool) -> SourceDescription?
  {
    var next: SourceDescription?
    if goesOn, !pump.isOver {
      switch pump.outcome {
      case .end: break
      case .epoch(let description): next = description
      case .jump: next = epoch.source
      }
    }
    epoch.endNumber.store(pump.nextNumber, ordering: .releasing)
    epoch.isLast.store(next == nil, ordering: .releasing)
    pump.endEpoch()
    pump.beginEpoch()
    pump.isDraining.store(true, ordering: .releasing)
    let isNext = next != nil
    watch = SourceWatch()
    if !gate.isAbandoned {
      sourceThread.perform { [epoch] in pump.leave(epoch, goesOn: isNext) }
    }
    let isDrained = threads.drain(limit: options.drainLimit.nanosecondCount, shared: shared) {
      watchSource(pump)
    }
    pump.isDraining.store(false, ordering: .releasing)
    engineCPU = engineCPU + threads.cpuTime
    watch = SourceWatch()
    let isBack = awaitSource(pump)
    guard isDrained else {
      hasStuckThreads = true
      return nil
    }
    timers.add(threads, epoch)
    guard isBack, onSource(pump, { [epoch] in pump.reclaimAll(epoch) }) else { return nil }
    if next != nil { epoch.memory.discard() }
    return next
  }

  // MARK: The end

  /// Finishes the stages, and the sinks that did not finish with the last epoch because it could
  /// not be made. Does not touch what a stuck thread may still use.
  private func finish(upTo number: UInt64) {
    let unfinished = sinks.filter { !$0.isStuck && !$0.hasFinished }
    for state in unfinished {
      let worker = SinkWorker(epoch: epoch, state: state, options: options)
      state.thread.perform { worker.conclude(upTo: number) }
    }
    awaitSinks(unfinished)
    guard !hasStuckThreads else { return }
    for stage in stages {
      RunningCode(["stage `\(stage.name)`"]).during {
        for instance in stage.instances {
          instance.stage.finish()
          // Workers of one stage may return equal notes.
          stageNotes += instance.stage.notes.filter { !stageNotes.contains($0) }
        }
      }
    }
  }

  /// Waits until the files of recordings are complete. Frames that were written and then lost with their file
  /// become `failed`.
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
    for state in sinks where state.isStuck { recordings.leaveCurrent(sink: state.index) }
    for state in sinks where state.isOnDemand && !state.isStuck {
      let lost = min(recordings.lost(sink: state.index), state.counts[.delivered])
      state.counts[.delivered] -= lost
      state.counts[.failed] += lost
      shared.counters.delivered[state.index].set(state.counts[.delivered])
    }
  }

  /// Gives the account to sinks that store it.
  private func seal() {
    let ledger = ledger
    let whole = sinks.filter { !$0.isStuck && !$0.hasFailed }
    for state in whole {
      // These counts are used if `seal` does not return.
      state.sealedCounts = state.counts
      state.thread.perform { [shared] in
        do throws(RunError) {
          try RunningCode(["sink `\(state.sink.name)`"]).during { () throws(RunError) in
            try state.sink.seal(ledger)
          }
        } catch {
          state.fail(error, shared, isFinishing: true)
        }
      }
    }
    awaitSinks(whole)
  }

  /// Waits for the jobs of all these sinks together: for the drain limit at most, and after a flush
  /// for twice `EpochThreads.graceNanoseconds` at most.
  private func awaitSinks(_ waiting: [SinkState]) {
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
    for state in waiting where !state.thread.isIdle {
      state.isStuck = true
      shared.fail(
        RunError(
          .failed, "the sink `\(state.sink.name)` did not finish; look at what it waits for"))
    }
  }
}
