internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// What other threads may read about an epoch.
struct PublishedSummary: Sendable {
  var summary: RunSummary
  let epoch: Epoch
  /// Sinks of the epoch that have left the run.
  var behind: [SinkState] = []
  /// The sinks of the epoch that are part of the run.
  var sinks: [SinkPlace] { epoch.sinks(without: behind) }
  let gate: SourceGate
  let choices: [StageChoice]
  /// Detached sinks that are not complete.
  var leaving: [SinkState] = []

  /// `timers` are those of the epochs before `epoch`.
  init(
    _ epoch: Epoch, _ gate: SourceGate, _ choices: [StageChoice], epochs: UInt32,
    _ timers: StageTimers
  ) {
    (self.epoch, self.gate, self.choices) = (epoch, gate, choices)
    summary = RunSummary(
      isOver: false, source: epoch.source, sourceCounts: [],
      ledger: Ledger(produced: 0, entries: []), sinks: [], detached: [],
      stages: timers.stages.map {
        .init(name: $0.name, duration: $0.summary, late: $0.late, rejected: $0.rejected)
      },
      unpack: timers.unpack.presentSummary, pack: timers.pack.presentSummary, epochs: Int(epochs),
      elapsed: .zero, producing: .zero, cpuTime: .zero, processCPUTime: .zero,
      processPeakResidentBytes: 0,
      lanes: epoch.plan.lanes.map { lane in
        (lane.steps.map { $0.name(epoch.stages) }, lane.workers)
      },
      depth: epoch.depthLines,
      memory: epoch.memory.lines.map {
        .init(what: $0.what, bytesPerSlot: $0.bytes, isReserve: $0.isReserve)
      },
      lookahead: epoch.plan.totalLookahead, latency: DurationSummary(),
      warnings: [buildWarning, epoch.source.note].compactMap(\.self)
        + epoch.plan.warnings(epoch.stages, isLive: epoch.source.isLive),
      droppedEvents: 0, errors: [], notes: [])
  }
}

extension Engine {
  /// How the run goes, and in the end how it went: from any thread, at any time.
  public var summary: RunSummary {
    let current = current
    var summary = current.summary
    if summary.isOver { return summary }
    let counts = current.sinks.map { place in
      // Read before those that the sink has: when a sink fails, some of these become `failed`.
      let own = place.state.gauge.counts
      var counts = liveCounts(of: place.state, tapsSource: place.tapsSource, taken: .delivered)
      for fate in SinkGauge.fates { counts[fate] += own[fate] }
      return counts
    }
    // Read after the counts, so that no sink has more than were produced.
    let produced = shared.counters.produced.now
    let entries = zip(current.sinks, counts).map { place, counts in
      place.state.entry(counts, produced: produced)
    }
    summary.ledger = Ledger(produced: produced, entries: entries)
    summary.sinks = zip(current.sinks, entries).map { place, entry in
      .init(entry, place.sink)
    }
    let start = startTime.load(ordering: .relaxed)
    summary.elapsed = .nanoseconds(start == 0 ? 0 : monotonicNow() - start)
    summary.processCPUTime = .nanoseconds(processCPUTime() - startCPU)
    addShared(to: &summary)
    return summary
  }

  /// Publishes the epoch that begins. On the run's thread.
  func publishEpoch() {
    var next = PublishedSummary(epoch, gate, choices, epochs: epochCount, timers)
    next.summary.producing = .nanoseconds(producing)
    next.summary.cpuTime = .nanoseconds(engineCPU)
    next.summary.detached = left.lines
    next.behind = behind
    next.leaving = leaving.flatMap(\.places).map(\.state)
    publish(next)
  }

  /// Publishes the summary of the whole run. On the run's thread, when all others have ended or are stuck.
  func publishEnd() {
    publishEpoch()
    var last = current
    var whole = last.summary
    whole.isOver = true
    whole.ledger = ledger
    whole.sourceCounts = gate.isAbandoned ? [] : gate.source.counts
    whole.sinks = zip(sinks, whole.ledger.entries).map { state, entry in
      .init(entry, state)
    }
    whole.taking = taking
    whole.latency = mergedLatency.summary
    whole.elapsed = .nanoseconds(elapsed)
    whole.processCPUTime = .nanoseconds(processCPU)
    addShared(to: &whole)
    whole.notes +=
      shared.lossNotes + (gate.isAbandoned ? [] : gate.source.notes) + stageNotes
      + sinks.flatMap { $0.isStuck ? [] : $0.sink.notes }
    last.summary = whole
    publish(last)
    isOver.set(1)
  }

  /// What any thread may read at any time.
  private func addShared(to summary: inout RunSummary) {
    summary.processPeakResidentBytes = SystemMemory.peakResident()
    summary.droppedEvents = shared.counters.droppedEvents.now
    summary.errors = shared.errors
    summary.notes = shared.notes
    summary.audio = audio.map(\.summary)
    for sound in summary.audio {
      summary.errors += sound.errors
      summary.notes += sound.notes
    }
  }

  var ledger: Ledger {
    let produced = shared.counters.produced.now
    let entries = present.map { place in
      let state = place.state
      let counts = state.isStuck ? stuckCounts(place, produced: produced) : state.counts
      return state.entry(counts, produced: produced)
    }
    return Ledger(produced: produced, entries: entries + left.entries)
  }

  private var mergedLatency: DurationHistogram {
    var merged = DurationHistogram()
    for sink in sinks where !sink.isStuck { merged.add(sink.latency) }
    return merged
  }

  /// The counts for a sink whose thread is stuck, without reading the counters that this thread
  /// still owns. Frames that the sink took are `delivered`, or `failed` if the sink buffers. Frames
  /// that the source or the chain decided have that fate. All others are `flushed`.
  func stuckCounts(
    _ place: SinkPlace, produced: UInt64, decided: [UInt64]? = nil
  ) -> FateCounts {
    let state = place.state
    if let sealed = state.sealedCounts { return sealed }
    var counts = liveCounts(
      of: state, tapsSource: place.tapsSource, taken: state.buffers ? .failed : .delivered,
      decided: decided)
    let mine = produced - state.firstNumber
    counts[.flushed] = mine - min(mine, counts.sum)
    return counts
  }

  /// Counts that any thread may read: frames that the sink took have the fate `taken`. `decided` is what
  /// source and chain have decided, by default until now.
  private func liveCounts(
    of state: SinkState, tapsSource: Bool, taken: Fate, decided: [UInt64]? = nil
  ) -> FateCounts {
    var counts = FateCounts()
    counts[taken] = state.delivered.now
    for (value, total) in (decided ?? shared.counters.decidedSoFar).enumerated() {
      guard let entry = TapeEntry(value: UInt8(value)),
        let fate = entry.fate(atSource: tapsSource)
      else { continue }
      counts[fate] += state.decided(value, of: total)
    }
    return counts
  }
}

extension SinkState {
  /// Its line of the ledger.
  func entry(_ counts: FateCounts, produced: UInt64) -> Ledger.Entry {
    Ledger.Entry(
      sink: sink.name, counts: counts,
      frames: firstNumber == 0 ? nil : firstNumber..<max(firstNumber, produced))
  }
}
