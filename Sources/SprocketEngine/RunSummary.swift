public import SprocketCore
internal import Synchronization

/// How a run went: everything that `--summary` and the closing lines are made of.
public struct RunSummary: Sendable {
  public struct Stage: Sendable {
    public var name: String
    /// Time in the stage per frame.
    public var duration: DurationSummary
    public var late: UInt64
    public var rejected: UInt64

    public init(name: String, duration: DurationSummary, late: UInt64 = 0, rejected: UInt64 = 0) {
      self.name = name
      self.duration = duration
      self.late = late
      self.rejected = rejected
    }
  }

  public struct SinkLine: Sendable {
    public var name: String
    public var counts: FateCounts
    /// From `captured` (where that is on the monotonic clock; else from `dequeued`) to `written`.
    public var latency: DurationSummary
  }

  public struct MemoryLine: Sendable {
    public var what: String
    public var bytesPerSlot: Int
    /// Address space for the worst case, rather than memory in use.
    public var isReserve: Bool
  }

  public var source: SourceDescription
  /// What the source counted, such as frames that it had to copy.
  public var sourceCounts: [(name: String, value: UInt64)]
  public var ledger: Ledger
  public var sinks: [SinkLine]
  public var stages: [Stage]
  /// `nil` where nothing was unpacked or packed.
  public var unpack: DurationSummary?
  public var pack: DurationSummary?
  public var epochs: Int
  public var elapsed: Duration
  /// Time during which the source was asked for frames; `frames/s` is relative to it. Draining
  /// between epochs and at the end is excluded.
  public var producing: Duration
  /// User and system time of the threads of this run; those of libraries, such as libavcodec's, are not
  /// among them.
  public var cpuTime: Duration
  /// User and system time of the process while the run was on: of all its threads, also other runs'.
  public var processCPUTime: Duration
  /// The most memory that the process ever had, also before this run.
  public var processPeakResidentBytes: Int
  /// Per lane: the steps, in order, and the number of workers.
  public var lanes: [(steps: [String], workers: Int)]
  /// The ring's depth and slots as a sum.
  public var depth: [(holder: String, frames: Int)]
  public var memory: [MemoryLine]
  /// Frames that each frame waits for on its way.
  public var lookahead: Int
  /// As each sink's, over all sinks.
  public var latency: DurationSummary
  /// What a user should know of how the chain was laid out.
  public var warnings: [String]
  /// Events that a source had no room to keep, and events that were overwritten before a stage or
  /// sink read them, counted once for each stage or sink.
  public var droppedEvents: UInt64
  public var errors: [RunError]
  /// Sentences about what is no error, such as a reader that went away, and the notes of the
  /// source, the stages and the sinks.
  public var notes: [String]
}

extension Engine {
  /// How the run went. Complete once `wait` has returned true; before that, only what is planned.
  public var summary: RunSummary {
    let ledger = ledger
    return RunSummary(
      source: epoch.source, sourceCounts: gate.isAbandoned ? [] : source.counts, ledger: ledger,
      sinks: zip(sinks, ledger.entries).map { state, entry in
        .init(
          name: state.sink.name, counts: entry.counts,
          latency: state.isStuck ? DurationSummary() : state.latency.summary)
      },
      stages: timers.stages.map {
        .init(
          name: $0.name, duration: $0.summary, late: $0.late, rejected: $0.rejected)
      },
      unpack: Self.present(timers.unpack), pack: Self.present(timers.pack),
      epochs: Int(epochCount), elapsed: .nanoseconds(elapsed), producing: .nanoseconds(producing),
      cpuTime: .nanoseconds(engineCPU), processCPUTime: .nanoseconds(processCPU),
      processPeakResidentBytes: peakResidentBytes(),
      lanes: epoch.plan.lanes.map { lane in
        (lane.steps.map { $0.name(stages) }, lane.workers)
      },
      depth: epoch.depthLines,
      memory: epoch.memory.lines.map {
        .init(what: $0.what, bytesPerSlot: $0.bytes, isReserve: $0.isReserve)
      },
      lookahead: epoch.plan.totalLookahead, latency: mergedLatency.summary,
      warnings: [epoch.source.note].compactMap(\.self)
        + epoch.plan.warnings(stages, isLive: epoch.source.isLive),
      droppedEvents: shared.counters.droppedEvents.now,
      errors: shared.errors.withLock { $0 },
      notes: shared.notes.withLock { $0 } + (gate.isAbandoned ? [] : source.notes) + stageNotes
        + sinks.flatMap { $0.isStuck ? [] : $0.sink.notes })
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
    var counts = FateCounts()
    counts[state.buffers ? .failed : .delivered] = shared.counters.delivered[state.index].now
    for (value, cell) in shared.counters.decided.enumerated() {
      guard let entry = TapeEntry(value: UInt8(value)),
        let fate = entry.fate(atSource: state.tapsSource)
      else { continue }
      counts[fate] += cell.now
    }
    counts[.flushed] = produced - min(produced, counts.sum)
    return counts
  }

  private static func present(_ line: StageTimers.Line) -> DurationSummary? {
    let summary = line.summary
    return summary.count == 0 ? nil : summary
  }
}
