public import SprocketCore

/// How a run went: everything that `--summary` and the closing lines are made of.
public struct RunSummary: Sendable {
  /// What a stage took.
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

  /// What became of the frames of a sink.
  public struct SinkLine: Sendable {
    public var name: String
    public var counts: FateCounts
    /// From `captured` (where that is on the monotonic clock; else from `dequeued`) to `written`.
    public var latency: DurationSummary
    /// Time that the sink spent on a frame; CPU time is that of its thread.
    public var writing: DurationSummary
    /// See `Ledger.Entry.frames`.
    public var frames: Range<UInt64>?
    /// What the sink counted beside frames, such as programs that read them.
    public var others: [(name: String, value: UInt64)]

    /// Without times: the sink's thread may be at work, or stuck.
    init(_ entry: Ledger.Entry, _ sink: any Sink) {
      (name, counts, frames) = (entry.sink, entry.counts, entry.frames)
      (latency, writing) = (DurationSummary(), DurationSummary())
      others = sink.counts
    }

    /// A sink that has ended also has its durations.
    init(_ entry: Ledger.Entry, _ state: SinkState) {
      self.init(entry, state.sink)
      if !state.isStuck { (latency, writing) = (state.latency.summary, state.writing.summary) }
    }
  }

  /// Memory of each slot, by its use.
  public struct MemoryLine: Sendable {
    public var what: String
    public var bytesPerSlot: Int
    /// Address space for the worst case, rather than memory in use.
    public var isReserve: Bool
  }

  /// False while the run goes on. Then counts of frames are those of now; what a sink itself loses (`behind`,
  /// `skipped`, `unselected`, `failed`, `flushed`) is counted when it takes a later frame. Times are those of
  /// the epochs that have ended; `Engine.load` has those of now.
  public var isOver: Bool
  public var source: SourceDescription
  /// What the source counted, such as frames that it had to copy.
  public var sourceCounts: [(name: String, value: UInt64)]
  public var ledger: Ledger
  public var sinks: [SinkLine]
  /// The latest 256 sinks that were detached, with their whole account.
  public var detached: [SinkLine]
  public var stages: [Stage]
  /// `nil` where nothing was unpacked or packed.
  public var unpack: DurationSummary?
  public var pack: DurationSummary?
  /// Time that the source spent on a frame, where that was measured.
  package var taking: DurationSummary?
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
  /// The sound of each source of it.
  public var audio: [AudioSummary] = []
}
