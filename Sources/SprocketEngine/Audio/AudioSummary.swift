public import SprocketCore
internal import Synchronization

/// How the sound of one source went. Counts are samples, before any resampling.
public struct AudioSummary: Sendable {
  /// The latest source.
  public var source: AudioDescription
  /// False while it goes on.
  public var isOver: Bool
  /// What the source made, missing ones counted; and per sink where they ended.
  public var ledger: Ledger
  /// Files that are complete, the latest 1,024 of each sink, and the sinks that wrote them.
  public var files: [(sink: String, file: AudioFileAccount)]
  /// Samples that never reached us: those of gaps.
  public var missing: UInt64
  /// Numbers that were beyond full scale behind the stages.
  public var clipped: UInt64
  /// The clock as it is known now: its segment counts the gaps.
  public var line: AudioLine
  /// What a meter shows now.
  public var levels: AudioLevels
  public var errors: [RunError]
  public var notes: [String]

  /// By how much the source's clock is faster than the picture's, in parts per million; `nil` if it was not
  /// measured.
  public var drift: Double? {
    line.isMeasured ? (line.rate / Double(source.format.rate) - 1) * 1e6 : nil
  }
}

extension AudioEngine {
  /// How it goes, and in the end how it went: from any thread, at any time.
  public var summary: AudioSummary {
    // Read before the taps' counts, which are then not less than they were.
    let isOver = isOver
    let produced = shared.produced.load(ordering: .acquiring)
    let accounts = shared.accounts.withLock { $0 }
    let entries = accounts.map { sink, account in
      Ledger.Entry(sink: sink, counts: isOver ? account.counts(of: produced) : account.counts)
    }
    return AudioSummary(
      source: seat.description, isOver: isOver,
      ledger: Ledger(produced: produced, entries: entries),
      files: accounts.flatMap { sink, account in account.files.map { (sink, $0) } },
      missing: shared.missing.load(ordering: .relaxed),
      clipped: shared.clipped.load(ordering: .relaxed), line: shared.line, levels: shared.levels,
      errors: shared.errors.withLock { $0 }, notes: shared.notes.withLock { $0 })
  }
  /// When the latest block came, on the monotonic clock in nanoseconds; 0 before the first. From any thread.
  public var lastBlockTime: Int64 { shared.lastBlock.load(ordering: .acquiring) }

  /// Whether the source has ended or failed, and none has taken its place. From any thread.
  public var isLost: Bool { shared.isLost.load(ordering: .acquiring) }

  /// What went wrong so far. From any thread.
  public var errors: [RunError] { shared.errors.withLock { $0 } }
}
