internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// What other threads may read about an epoch.
struct PublishedSummary: Sendable {
  var summary: RunSummary
  /// By sink: it taps the source.
  let tapsSource: [Bool]
  let ring: Ring

  /// `timers` are those of the epochs before `epoch`.
  init(_ epoch: Epoch, epochs: UInt32, _ timers: StageTimers) {
    tapsSource = epoch.sinks.map(\.tapsSource)
    ring = epoch.ring
    summary = RunSummary(
      isOver: false, source: epoch.source, sourceCounts: [],
      ledger: Ledger(produced: 0, entries: []), sinks: [],
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
      warnings: [epoch.source.note].compactMap(\.self)
        + epoch.plan.warnings(epoch.stages, isLive: epoch.source.isLive),
      droppedEvents: 0, errors: [], notes: [])
  }
}

extension Engine {
  /// How the run goes, and in the end how it went: from any thread, at any time.
  public var summary: RunSummary {
    let current = published.withLock { $0 }
    var summary = current.summary
    if summary.isOver { return summary }
    let entries = sinks.map { state in
      // Read before those that the sink has: when a sink fails, some of these become `failed`.
      let own = state.gauge.counts
      var counts = liveCounts(
        of: state, tapsSource: current.tapsSource[state.index], taken: .delivered)
      for fate in SinkGauge.fates { counts[fate] += own[fate] }
      return Ledger.Entry(sink: state.sink.name, counts: counts)
    }
    // Read after the counts, so that no sink has more than were produced.
    summary.ledger = Ledger(produced: shared.counters.produced.now, entries: entries)
    summary.sinks = entries.map {
      .init(name: $0.sink, counts: $0.counts, latency: DurationSummary())
    }
    let start = startTime.load(ordering: .relaxed)
    summary.elapsed = .nanoseconds(start == 0 ? 0 : monotonicNow() - start)
    summary.processCPUTime = .nanoseconds(processCPUTime() - startCPU)
    addShared(to: &summary)
    return summary
  }

  /// Publishes the epoch that begins. On the run's thread.
  func publishEpoch() {
    var next = PublishedSummary(epoch, epochs: epochCount, timers)
    next.summary.producing = .nanoseconds(producing)
    next.summary.cpuTime = .nanoseconds(engineCPU)
    published.withLock { $0 = next }
  }

  /// Publishes the summary of the whole run. On the run's thread, when all others have ended or are stuck.
  func publishEnd() {
    publishEpoch()
    var whole = published.withLock { $0.summary }
    whole.isOver = true
    whole.ledger = ledger
    whole.sourceCounts = gate.isAbandoned ? [] : source.counts
    whole.sinks = zip(sinks, whole.ledger.entries).map { state, entry in
      .init(
        name: state.sink.name, counts: entry.counts,
        latency: state.isStuck ? DurationSummary() : state.latency.summary)
    }
    whole.latency = mergedLatency.summary
    whole.elapsed = .nanoseconds(elapsed)
    whole.processCPUTime = .nanoseconds(processCPU)
    addShared(to: &whole)
    whole.notes +=
      (gate.isAbandoned ? [] : source.notes) + stageNotes
      + sinks.flatMap { $0.isStuck ? [] : $0.sink.notes }
    published.withLock { [whole] in $0.summary = whole }
    isOver.set(1)
  }

  /// What any thread may read at any time.
  private func addShared(to summary: inout RunSummary) {
    summary.processPeakResidentBytes = peakResidentBytes()
    summary.droppedEvents = shared.counters.droppedEvents.now
    summary.errors = shared.errors.withLock { $0 }
    summary.notes = shared.notes.withLock { $0 }
  }

  var ledger: Ledger {
    let produced = shared.counters.produced.now
    let entries = sinks.map { state in
      let counts = state.isStuck ? stuckCounts(state, produced: produced) : state.counts
      return Ledger.Entry(sink: state.sink.name, counts: counts)
    }
    return Ledger(produced: produced, entries: entries)
  }

  private var mergedLatency: DurationHistogram {
    var merged = DurationHistogram()
    for sink in sinks where !sink.isStuck { merged.add(sink.latency) }
    return merged
  }

  /// The counts for a sink whose thread is stuck, without reading the counters that this thread
  /// still owns. Frames that the sink took are `delivered`, or `failed` if the sink buffers. Frames
  /// that the source or the chain decided have that fate. All others are `flushed`.
  private func stuckCounts(_ state: SinkState, produced: UInt64) -> FateCounts {
    if let sealed = state.sealedCounts { return sealed }
    var counts = liveCounts(
      of: state, tapsSource: state.tapsSource, taken: state.buffers ? .failed : .delivered)
    counts[.flushed] = produced - min(produced, counts.sum)
    return counts
  }

  /// Counts that any thread may read: frames that the sink took have the fate `taken`.
  private func liveCounts(of state: SinkState, tapsSource: Bool, taken: Fate) -> FateCounts {
    var counts = FateCounts()
    counts[taken] = shared.counters.delivered[state.index].now
    for (value, cell) in shared.counters.decided.enumerated() {
      guard let entry = TapeEntry(value: UInt8(value)),
        let fate = entry.fate(atSource: tapsSource)
      else { continue }
      counts[fate] += cell.now
    }
    return counts
  }
}
