internal import Histogram
public import SprocketCore
internal import SprocketRing
internal import Synchronization

/// Durations in nanoseconds, to 1 %, up to a minute. Recording allocates nothing.
struct DurationHistogram {
  private static let longest: UInt64 = 60_000_000_000
  private var histogram = Histogram<UInt64>(
    lowestDiscernibleValue: 64, highestTrackableValue: longest, numberOfSignificantValueDigits: .two
  )
  private var longestSeen: Int64 = 0

  mutating func record(_ nanoseconds: Int64) {
    longestSeen = max(longestSeen, nanoseconds)
    histogram.record(min(UInt64(max(nanoseconds, 0)), Self.longest))
  }

  mutating func add(_ other: DurationHistogram) {
    histogram.add(other.histogram)
    longestSeen = max(longestSeen, other.longestSeen)
  }

  var summary: DurationSummary {
    func microseconds(_ percentile: Double) -> Double {
      min(Double(histogram.valueAtPercentile(percentile)), Double(longestSeen)) / 1000
    }
    guard histogram.totalCount > 0 else { return DurationSummary() }
    return DurationSummary(
      count: histogram.totalCount, p50: microseconds(50), p90: microseconds(90),
      p99: microseconds(99), max: Double(longestSeen) / 1000, mean: histogram.mean / 1000)
  }
}

/// A distribution of durations, in microseconds; percentiles to 1 %.
public struct DurationSummary: Sendable, Hashable {
  public var count: UInt64 = 0
  public var p50 = 0.0
  public var p90 = 0.0
  public var p99 = 0.0
  public var max = 0.0
  public var mean = 0.0
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
    var now: UInt64 { value.load(ordering: .relaxed) }
  }
  let produced = Cell()
  /// By value on the fate tape: frames of which source or chain decided.
  let decided = (0..<FateTape.valueCount).map { _ in Cell() }
  let delivered: [Cell]
  /// Events that somebody did not hear.
  let droppedEvents = Cell()

  init(sinks: Int) { delivered = (0..<sinks).map { _ in Cell() } }
}
