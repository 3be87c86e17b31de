/// Where a produced frame ended, for one sink. Each ends in exactly one.
public enum Fate: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  /// The sink has it.
  case delivered = 0
  /// A jump in the device's sequence: it never reached us.
  case missing = 1
  /// Damaged: flagged by the driver, broken in structure, or refused by the decoder.
  case corrupt = 2
  /// One of the first frames, which the source marks as not to be used.
  case startup = 3
  /// It arrived when no position of the ring was free.
  case overrun = 4
  /// Dropped by a stage because it came too late to be of use.
  case late = 5
  /// Dropped by a stage for the frame's content: no motion, for example.
  case rejected = 6
  /// Overwritten before this sink took it.
  case behind = 7
  /// Passed over by a sink that takes the newest only.
  case skipped = 8
  /// This sink did not want it.
  case unselected = 9
  /// The sink failed before the frame was safely stored.
  case failed = 10
  /// Still under way when the run was ended, or when the reader of a pipe went away.
  case flushed = 11

  /// Decided by the source or the chain and so the same for every sink at the chain's end.
  public var isDecidedByChain: Bool {
    (Fate.missing.rawValue...Fate.rejected.rawValue).contains(rawValue)
  }

  /// Name in reports and summaries.
  public var name: String { "\(self)" }
}

/// How many frames ended in each fate.
public struct FateCounts: Sendable, Hashable {
  var counts = [UInt64](repeating: 0, count: Fate.allCases.count)

  public init() {}

  /// Number of frames that ended so.
  public subscript(fate: Fate) -> UInt64 {
    get { counts[Int(fate.rawValue)] }
    set { counts[Int(fate.rawValue)] = newValue }
  }

  public var sum: UInt64 { counts.reduce(0, +) }
}

/// The account of one run: what the source produced, and per sink where each frame ended.
public struct Ledger: Sendable, Hashable {
  /// The account of one sink.
  public struct Entry: Sendable, Hashable {
    public var sink: String
    /// Where its frames ended.
    public var counts: FateCounts
    /// The frames that were produced while the sink was attached, by running number; `nil` for all of the
    /// run.
    public var frames: Range<UInt64>?

    public init(sink: String, counts: FateCounts, frames: Range<UInt64>? = nil) {
      self.sink = sink
      self.counts = counts
      self.frames = frames
    }
  }

  /// Per epoch, last device sequence - first + 1; summed.
  public var produced: UInt64
  /// One for each sink.
  public var entries: [Entry]

  public init(produced: UInt64, entries: [Entry]) {
    self.produced = produced
    self.entries = entries
  }

  /// The sinks whose fates do not add up to the frames that were produced while they were attached. Empty,
  /// or there is a bug in Sprocket.
  public var unbalanced: [Entry] {
    entries.filter { entry in
      entry.counts.sum != entry.frames.map { $0.upperBound - $0.lowerBound } ?? produced
    }
  }

  /// Whether each frame has exactly one fate at each sink.
  public var isBalanced: Bool { unbalanced.isEmpty }
}
