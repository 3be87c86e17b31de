import CSprocketAllocations
import TestExpectations
import Testing

@testable import SprocketEngine

/// What a histogram says, compared with what follows from a sorted array of the same durations.
@Suite struct DurationHistogramTests {
  /// Longest duration that is told apart, and how far a class may reach above the durations in it.
  static let minute: Int64 = 60_000_000_000
  static func tolerance(_ nanoseconds: Int64) -> Int64 { max(63, nanoseconds / 128) }

  static let inputs: [(name: String, values: [Int64])] = [
    ("one", [1_234_567]),
    ("all equal", Array(repeating: 16_600_123, count: 1000)),
    ("all 0", Array(repeating: 0, count: 10)),
    ("ramp", Array(0..<5000)),
    ("squares", (1...1000).map { $0 * $0 * 37 }),
    ("spread evenly over all octaves", random(10_000)),
    ("two groups far apart", (0..<1000).map { $0 < 900 ? 1000 + $0 : 5_000_000_000 + $0 }),
    ("the edges of octaves", (0...35).flatMap { edge in [-1, 0, 1].map { (1 << edge) + $0 } }),
    ("the extremes", [0, 1, 63, 64, 16_383, 16_384, minute - 1, minute]),
  ]

  /// Numbers of up to 36 bits, each size as likely as any other; none above a minute.
  static func random(_ count: Int) -> [Int64] {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
    return (0..<count).map { _ in min(Int64(next() >> (28 + next() % 36)), minute) }
  }

  static func histogram(_ values: [Int64]) -> DurationHistogram {
    var histogram = DurationHistogram()
    for value in values { histogram.record(value) }
    return histogram
  }

  @Test(arguments: inputs.indices)
  func percentilesAreThoseOfTheSortedDurationsWithinAPercent(_ input: Int) {
    let sorted = Self.inputs[input].values.sorted()
    let summary = Self.histogram(sorted).summary
    expectEqual(summary.count, UInt64(sorted.count))
    for (percent, found) in [(50, summary.p50), (90, summary.p90), (99, summary.p99)] {
      let rank = (percent * sorted.count + 99) / 100
      let exact = sorted[rank - 1]
      expectAtLeast(found * 1000, Double(exact))
      expectAtMost(found * 1000, Double(exact + Self.tolerance(exact)))
    }
  }

  @Test(arguments: inputs.indices)
  func maximumAndMeanAreExact(_ input: Int) {
    let values = Self.inputs[input].values
    let summary = Self.histogram(values).summary
    let mean = Double(values.reduce(0, +)) / Double(values.count)
    expectEqual(summary.max, Double(values.max() ?? 0) / 1000)
    expectAtMost(abs(summary.mean * 1000 - mean), mean * 1e-12)
  }

  /// Up to the longest duration of a bucket, exactly as many durations were recorded as buckets count; and
  /// the shortest one in it is at most a percent shorter.
  @Test(arguments: inputs.indices)
  func bucketsDivideTheSortedDurations(_ input: Int) {
    var rest = Self.inputs[input].values.sorted()[...]
    for bucket in Self.histogram(Array(rest)).summary.buckets {
      let longest = Int64((bucket.longest * 1000).rounded())
      let held = rest.prefix { $0 <= longest }
      expectEqual(held.count, Int(bucket.count))
      expectAtMost(longest - (held.first ?? .min), Self.tolerance(longest))
      rest = rest.dropFirst(held.count)
    }
    expectEmpty(rest)
  }

  @Test func addingIsRecordingAll() {
    let (some, others) = (Self.random(1000), Self.inputs[4].values)
    var sum = Self.histogram(some)
    sum.add(Self.histogram(others))
    sum.add(DurationHistogram())
    let all = Self.histogram(some + others)
    expectEqual(sum.summary, all.summary)
  }

  @Test func nothingRecordedIsAnEmptySummary() {
    expectEqual(DurationHistogram().summary, DurationSummary())
  }

  /// A clock that steps back, and a pause of the machine.
  @Test func whatLiesOutsideCountsAsTheShortestOrAsAMinute() {
    let summary = Self.histogram([.min, -1, Self.minute + 1, 90_000_000_000, .max]).summary
    expectEqual(summary.buckets.map(\.count), [2, 3])
    expectEqual(summary.buckets.first?.longest, 0.063)
    expectAtLeast(summary.p50 * 1000, Double(Self.minute))
    expectAtMost(summary.p50 * 1000, Double(Self.minute + Self.tolerance(Self.minute)))
    expectEqual(summary.max, Double(Int64.max) / 1000)
  }

  @Test func recordingAllocatesNothing() {
    var histogram = DurationHistogram()
    let values = Self.random(1000)
    let before = sprocket_allocation_count()
    // Loops by index: an iterator allocates in builds that are not optimised.
    for index in 0..<values.count { histogram.record(values[index]) }
    histogram.record(.max)
    expectEqual(sprocket_allocation_count(), before)
    expectEqual(histogram.summary.count, 1001)
  }

  @Test func percentilesFollowFromTheBuckets() {
    let summary = Self.histogram(Self.inputs[4].values).summary
    expectEqual(summary.buckets.reduce(0) { $0 + $1.count }, 1000)
    for (share, expected) in [(0.5, summary.p50), (0.9, summary.p90), (0.99, summary.p99)] {
      var seen: UInt64 = 0
      let bucket = summary.buckets.first { bucket in
        seen += bucket.count
        return Double(seen) >= share * 1000
      }
      expectEqual(bucket?.longest, expected)
    }
    expectEqual(summary.buckets.last?.longest, 37_000)
  }
}
