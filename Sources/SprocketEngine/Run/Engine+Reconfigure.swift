internal import SprocketCore

/// What the run's thread does for a change of the run's shape, between two epochs.
///
/// Keeps of the contract of requests:
/// - A18: all or nothing. The caller has prepared what can be had beside the run. What is left is decided
///   here, when all threads of the old epoch stand still: the sinks that stay can be asked only then. If
///   that fails, the old epoch goes on with its own plan, memory, stages and source; only its threads are
///   made anew. If a device had to be closed for the change, it is opened again, which begins an epoch; if
///   that fails, too, the run ends with an error.
/// - A19: see `SourcePump.hold`. Where sinks alone change, stages and the sinks that stay are not
///   configured, the epoch's number stays, no frame is a discontinuity, and recordings go on.
/// - A20: see `Engine+Leaving.swift`.
extension Engine {
  /// Makes the epoch that `change` asks for, or goes back to the old one. False when the run ends.
  func carryOut(_ change: ShapeChange, _ pump: SourcePump) -> Bool {
    var hasClosed = false
    do throws(RunError) {
      var description = change.source?.description
      if let new = change.source, description == nil {
        hasClosed = true
        description = try exchangeSource(for: new.gate, pump)
      }
      if let description { try Self.checkPace(of: audio, beside: description) }
      var request = request(
        for: change, description ?? epoch.source, without: Set(behind.map(\.id)),
        isConfigured: !hasClosed)
      if change.source != nil { request.firstNumber = pump.nextNumber }
      let next = try makeEpoch(request)
      // The threads of its lanes wait: there is no frame yet.
      let threads = EpochThreads(next)
      try threads.startLanes(options, makeUnpacker: makeUnpacker)
      if let new = change.source, !hasClosed {
        guard closeSource(pump) else {
          threads.abandon()
          throw Self.sourceIsStuck
        }
        gate = new.gate
        pump.replaceSource(new.gate, next.source)
      }
      commit(change, next, pump)
      prepared = threads
      change.finish(.done)
      return true
    } catch {
      let goesOn = goBack(change, pump, hasClosed: hasClosed)
      change.finish(.refused(error))
      return goesOn
    }
  }

  private static let sourceIsStuck = RunError(
    .failed, "the source did not return from a call, so the run ends")

  // MARK: The source

  /// Closes the source. False if the call does not return in time: the run has abandoned the source.
  private func closeSource(_ pump: SourcePump) -> Bool {
    isClosing = true
    defer { isClosing = false }
    guard onSource(pump, { pump.close(isReplaced: true) }) else { return false }
    for note in gate.source.notes { shared.note(note) }
    return true
  }

  /// Closes the source and opens another one.
  private func exchangeSource(
    for new: SourceGate, _ pump: SourcePump
  ) throws(RunError) -> SourceDescription {
    guard closeSource(pump) else { throw Self.sourceIsStuck }
    return try openSource(new, pump)
  }

  /// Opens a source on the source's thread. With `isSame` it replaces the same source, which was closed for
  /// the change: the time of the run's first frame is kept, so that limits and requests by time stay as
  /// they were.
  private func openSource(
    _ new: SourceGate, _ pump: SourcePump, isSame: Bool = false
  ) throws(RunError) -> SourceDescription {
    gate = new
    let first = pump.firstCaptured
    pump.replaceSource(new, epoch.source, firstCaptured: isSame ? first : nil)
    let found = OpenedSource()
    // After this time the source is interrupted, and abandoned if that does not help.
    openingEnd = deadline(in: options.drainLimit.nanosecondCount)
    defer { openingEnd = nil }
    guard onSource(pump, { found.open(new) }) else { throw Self.sourceIsStuck }
    let description = try found.result.withLock { $0 }.get()
    pump.replaceSource(new, description, firstCaptured: isSame ? first : nil)
    return description
  }

  /// Carries the result of `open` from the source's thread to the run's.
  private final class OpenedSource: Sendable {
    let result = Locked<Result<SourceDescription, RunError>>(.failure(sourceIsStuck))

    func open(_ gate: SourceGate) {
      var found: Result<SourceDescription, RunError> = .failure(sourceIsStuck)
      do throws(RunError) {
        if let description = try gate.open() { found = .success(description) }
      } catch {
        found = .failure(error)
      }
      result.withLock { [found] in $0 = found }
    }
  }

  // MARK: The two outcomes

  private func commit(_ change: ShapeChange, _ next: Epoch, _ pump: SourcePump) {
    if let chain = change.chain { replaceStages(chain, pump) }
    if change.keepsControls, let old = epoch.source.controls {
      next.source.controls?.takeOver(from: old)
    }
    let number = pump.nextNumber
    let decided = shared.counters.decidedSoFar
    for place in change.attached {
      place.state.attach(at: number, decided: decided, shared.events)
      recordings.attach(place.state)
      shared.noteAttached(place.sink)
    }
    // Another unpacking takes another time (A17).
    let isUnpackedAnew = next.plan.versions[0].parts != epoch.plan.versions[0].parts
    if change.isContinuous, isUnpackedAnew { for stage in stages { stage.remaining.measureAnew() } }
    let removed = present.filter { change.detached.contains($0.state.id) }
    let old = epoch
    epoch = next
    sinks = next.sinks.map(\.state)
    if !change.isContinuous { epochCount += 1 }
    for place in removed { place.state.leave(shared, endsRun: false) }
    for state in behind {
      state.leave(shared, endsRun: !change.detached.contains(state.id))
    }
    letGo(removed, of: old, at: number)
    _ = collectLeft()
    publishEpoch()
    recordings.state.withLock { $0.tell(.reconfigured(from: number)) }
  }

  private func replaceStages(_ chain: ShapeChange.NewChain, _ pump: SourcePump) {
    finishStages()
    (stages, reportBytes, choices) = (chain.stages, chain.reportBytes, chain.choices)
    shared.settings.setChain(stages, keepsSettings: chain.keepsSettings)
    timers.add(stages)
    if !chain.keepsSettings { pump.settings = nil }
    for (index, stage) in stages.enumerated() {
      for instance in stage.instances {
        instance.events?.skip(shared.events, below: .max)
        if instance.store(pump.settings, stage: index) { instance.stage.retune() }
      }
    }
  }

  /// Lets the old epoch go on, without the sinks that it left behind. False when the run ends.
  private func goBack(_ change: ShapeChange, _ pump: SourcePump, hasClosed: Bool) -> Bool {
    // The change did not hold, and they left all the same.
    for state in behind {
      state.leave(shared, endsRun: true)
      if change.detached.contains(state.id) { tellLeft(state) }
    }
    guard !gate.isAbandoned else { return false }
    if hasClosed { return reopen(change, pump) }
    let sinks = present.map { resumed($0, isAsked: !change.isContinuous) }
    if behind.isEmpty {
      epoch = Epoch(resuming: epoch, generation: pump.generation, sinks: sinks)
      publishEpoch()
      return true
    }
    // They may still read the old epoch's memory.
    do throws(RunError) {
      epoch = try makeEpoch(
        EpochRequest(
          index: epoch.index, generation: pump.generation, isContinuous: true,
          source: epoch.source, firstNumber: epoch.firstNumber, stages: stages,
          configuresStages: false,
          sinks: sinks.enumerated().map { SinkPlace($1, index: $0) }, reportBytes: reportBytes,
          refusal: .endsSink))
      publishEpoch()
      return true
    } catch {
      shared.fail(error)
      return false
    }
  }

  /// Opens the source again that was closed for the change.
  private func reopen(_ change: ShapeChange, _ pump: SourcePump) -> Bool {
    guard !shared.isStopping else { return false }
    onSource(pump) { pump.close() }
    guard !gate.isAbandoned, let again = change.oldSource?.again() else { return false }
    do throws(RunError) {
      return beginEpoch(try openSource(SourceGate(again), pump, isSame: true), pump)
    } catch {
      shared.fail(
        RunError(
          .failed,
          "\(epoch.source.name) could not be opened again after a change that failed: \(error)"
        ))
      return false
    }
  }

  /// A sink's part in the epoch that goes on. If it was asked for its part in another one, it is asked
  /// again.
  private func resumed(_ old: SinkPlace, isAsked: Bool) -> SinkPlace {
    var place = old
    if let refusal = place.refusal {
      place.state.recordings?.suspend(refusal)
    } else if isAsked, place.setup != nil, !place.state.hasFailed {
      do throws(RunError) {
        try place.configure(epoch.facts, epoch.index, epoch.source, shared)
      } catch {
        place.leaveOut(error, shared)
      }
    }
    return place
  }
}
