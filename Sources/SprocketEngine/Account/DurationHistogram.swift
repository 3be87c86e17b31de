/// Counts durations in classes that are at most 1 % wide, from 64 ns to a minute.
///
/// Durations are counted in units of 64 ns. Below 256 units each unit is a class of its own. Above, each
/// octave (from one power of two to the next) is divided into 128 classes of equal width, so that a class is
/// between 1/256 and 1/128 of the durations in it. The class of a duration is then found without a search:
///
///     octave = position of the highest bit, less 7       (0 below 256 units)
///     class  = 128 * octave + (units >> octave)
///
/// since `units >> octave` lies between 128 and 255 in every octave but the first, where it begins at 0. The
/// same layout is HdrHistogram's, with two significant digits.
///
/// Memory: 3,040 counters of 8 bytes. It is allocated in `init`; recording allocates nothing, as long as no
/// copy of the histogram is alive. Durations below 0 are counted as 0, and those above a minute as a minute;
/// but the longest and the mean are exact.
struct DurationHistogram {
  /// Width of the lowest classes, as a power of two in nanoseconds. Larger: short steps are told apart less
  /// well, and an octave of counters is saved.
  private static let unitBits = 6
  /// Classes of an octave, as a power of two: the lowest that keeps classes within 1 %. Larger: percentiles
  /// are more exact, and the memory doubles.
  private static let octaveBits = 7
  /// Longest duration that has a class, in nanoseconds. Larger: costs memory for classes that no frame
  /// reaches.
  private static let longestCounted: Int64 = 60_000_000_000

  private var counts = [UInt64](repeating: 0, count: Self.index(of: Self.longestCounted) + 1)
  private var count: UInt64 = 0
  private var longest: Int64 = 0
  /// Sum of all durations, in nanoseconds. A floating point number does not overflow, and is exact up to a
  /// sum of 104 days (53 bits).
  private var sum = 0.0

  mutating func record(_ nanoseconds: Int64) {
    let duration = max(nanoseconds, 0)
    counts[Self.index(of: min(duration, Self.longestCounted))] &+= 1
    count &+= 1
    longest = max(longest, duration)
    sum += Double(duration)
  }

  mutating func add(_ other: DurationHistogram) {
    for index in counts.indices { counts[index] &+= other.counts[index] }
    count &+= other.count
    longest = max(longest, other.longest)
    sum += other.sum
  }

  var summary: DurationSummary {
    guard count > 0 else { return DurationSummary() }
    let buckets = buckets
    return DurationSummary(
      count: count, p50: buckets.percentile(50), p90: buckets.percentile(90),
      p99: buckets.percentile(99), max: Double(longest) / 1000, mean: sum / Double(count) / 1000,
      buckets: buckets)
  }

  /// Buckets that are not empty, the shortest durations first.
  private var buckets: [DurationBucket] {
    counts.indices.filter { counts[$0] > 0 }.map { index in
      DurationBucket(
        longest: Double(min(Self.longestDuration(of: index), longest)) / 1000, count: counts[index])
    }
  }

  /// Class of a duration between 0 and `longestCounted`.
  private static func index(of nanoseconds: Int64) -> Int {
    let units = Int(nanoseconds) >> unitBits
    let lowestBits = 1 << (octaveBits + 1) - 1
    let octave = Int.bitWidth - octaveBits - 1 - (units | lowestBits).leadingZeroBitCount
    return octave << octaveBits + units >> octave
  }

  /// Longest duration of a class, in nanoseconds.
  private static func longestDuration(of index: Int) -> Int64 {
    let octave = max(0, index >> octaveBits - 1)
    let units = index - octave << octaveBits
    return Int64((units + 1) << (octave + unitBits) - 1)
  }
}
