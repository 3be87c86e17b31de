internal import SprocketCore

/// How a run is to be carried out, whatever its source, stages and sinks.
public struct RunOptions: Sendable {
  /// Threads of each parallel lane, 1 to `mostWorkers`.
  public var workers: Int
  public var wait: WaitStrategy
  /// Ends the run after so many produced frames, gaps counted.
  public var frameLimit: UInt64?
  /// Longest duration of the run. A live run counts from `start`. Otherwise the run ends before the first
  /// frame that was captured this long after the first frame.
  public var durationLimit: Duration?
  /// How long lanes and sinks may take to drain when the run stops or an epoch ends.
  public var drainLimit: Duration
  /// Decodes every frame that reaches the end of the chain, even if no stage and no sink reads its
  /// pixels. So damage within encoded data is found in frames that are stored undecoded, too.
  public var verifies: Bool
  /// Bytes that frames may take in memory; a run that needs more is refused. `nil`, the default, is three
  /// quarters of what the machine, its control groups and limits leave.
  public var memoryLimit: Int?
  /// Runs of this process that share the memory of the machine: each may take its part of the default of
  /// `memoryLimit`, and of the address space.
  public var memorySharers = 1
  /// Slices kept per thread for `Engine.trace`: the latest ones, 1 or more, 32 bytes each. `nil`, the
  /// default, keeps none.
  public var traceLimit: Int?
  /// The name of the run's source among several of the process, for what a trap says (`reportTraps`).
  public var label = ""
  /// Number of first frames that are not measured in durations and CPU times of steps: for a benchmark.
  package var warmUp: UInt64 = 0
  /// Measures what the source spends on each frame, for `RunSummary.taking`: for a benchmark. Costs two
  /// readings of the clock per frame.
  package var measuresSource = false

  /// Largest accepted number of workers, to catch mistakes: more workers than cores do not help. Larger:
  /// machines with more cores can use all of them.
  public static let mostWorkers = 64

  public init(
    workers: Int = min(processorCount(), mostWorkers), wait: WaitStrategy = .park,
    frameLimit: UInt64? = nil,
    durationLimit: Duration? = nil, drainLimit: Duration = .seconds(10),
    verifies: Bool = false, memoryLimit: Int? = nil, traceLimit: Int? = nil
  ) {
    contract(workers > 0, "asks for \(workers) workers; a lane has at least one")
    contract(workers <= Self.mostWorkers, "asks for \(workers) workers; give 64 or fewer")
    contract(traceLimit ?? 1 > 0, "keeps \(traceLimit ?? 0) slices of a thread; keep 1 or more")
    self.workers = workers
    self.wait = wait
    self.frameLimit = frameLimit
    self.durationLimit = durationLimit
    self.drainLimit = drainLimit
    self.verifies = verifies
    self.memoryLimit = memoryLimit
    self.traceLimit = traceLimit
  }
}
