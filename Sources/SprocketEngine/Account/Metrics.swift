public import SprocketCore
internal import SprocketRing
internal import Synchronization

/// CPU time of a step, measured in some of its frames: reading a thread's clock costs a system call
/// (0.2 to 1 microsecond), too much for light steps in every frame.
struct CPUSample {
  /// Frames from one measurement to the next. Larger: costs less, samples less. A prime, so that it does
  /// not coincide with a period of the stream.
  private static let interval: UInt64 = 7
  /// Number of first frames that are all measured. Larger: short runs are measured better, and cost more.
  private static let first: UInt64 = 14

  private(set) var nanoseconds: Int64 = 0
  private(set) var count: Int64 = 0

  static func samples(_ sequence: UInt64) -> Bool { sequence < first || sequence % interval == 0 }

  /// Adds what the thread has used since it had used `start`; returns what it has used by now.
  mutating func record(since start: Int64) -> Int64 {
    let now = threadCPUTime()
    nanoseconds += now - start
    count += 1
    return now
  }

  mutating func add(_ other: CPUSample) {
    nanoseconds += other.nanoseconds
    count += other.count
  }

  /// Per frame; 0 where none was sampled.
  var microseconds: Double { count == 0 ? 0 : Double(nanoseconds) / Double(count) / 1000 }
}

/// A distribution of durations, in microseconds; percentiles to 1 %.
public struct DurationSummary: Sendable, Hashable {
  public var count: UInt64 = 0
  public var p50 = 0.0
  public var p90 = 0.0
  public var p99 = 0.0
  public var max = 0.0
  public var mean = 0.0
  /// Of a stage: CPU time of its thread per frame, as the mean of the first 14 and then every seventh
  /// frame of each epoch. Durations are wall clock, in which a thread may also have waited for a core.
  public var cpu = 0.0
  /// The whole distribution, the shortest durations first. A percentile is `longest` of the first bucket at
  /// which the sum of the counts reaches that share of `count`.
  public var buckets: [DurationBucket] = []
}

/// A bucket: the number of durations within 1 % of each other.
public struct DurationBucket: Sendable, Hashable {
  /// Longest duration of the bucket, in microseconds.
  public var longest: Double
  public var count: UInt64

  package init(longest: Double, count: UInt64) { (self.longest, self.count) = (longest, count) }
}

extension DurationSummary {
  /// Combines the distributions of several runs.
  package static func merged(_ summaries: [DurationSummary]) -> [DurationBucket] {
    var counts: [Double: UInt64] = [:]
    for bucket in summaries.flatMap(\.buckets) {
      counts[bucket.longest, default: 0] += bucket.count
    }
    return counts.sorted { $0.key < $1.key }.map {
      DurationBucket(longest: $0.key, count: $0.value)
    }
  }
}

extension [DurationBucket] {
  /// The duration that `percent` of all do not exceed; 0 if there is none.
  package func percentile(_ percent: Double) -> Double {
    let count = reduce(0) { $0 + $1.count }
    var seen: UInt64 = 0
    let found = first { bucket in
      seen += bucket.count
      return Double(seen) * 100 >= percent * Double(count)
    }
    return found?.longest ?? 0
  }
}

/// What is known of a run while it goes on.
public struct Progress: Sendable {
  public var produced: UInt64
  public var elapsed: Duration
  /// By fates that source and chain decide.
  public var lost: FateCounts
  /// Delivered frames per sink.
  public var delivered: [UInt64]
}

/// Counters that threads add to and anybody may read; relaxed, since nothing follows from them.
final class LiveCounters: Sendable {
  final class Cell: Sendable {
    let value = Atomic<UInt64>(0)
    func add(_ count: UInt64 = 1) { value.wrappingAdd(count, ordering: .relaxed) }
    func set(_ count: UInt64) { value.store(count, ordering: .relaxed) }
    var now: UInt64 { value.load(ordering: .relaxed) }
  }
  let produced = Cell()
  /// By value on the fate tape: frames of which source or chain decided.
  let decided = (0..<FateTape.valueCount).map { _ in Cell() }
  /// Events that a stage or sink missed.
  let droppedEvents = Cell()

  /// `decided` as it is now.
  var decidedSoFar: [UInt64] { decided.map(\.now) }
}
