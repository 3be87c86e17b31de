/// When samples were heard: a line through (number of a sample, time), and how far it can be trusted.
///
/// A device's line is fitted to what its status says, and gets better with time; that of a file is exact.
/// After a gap a new segment begins, with a line of its own.
public struct AudioLine: Sendable, Hashable, BitwiseCopyable {
  /// Counts the gaps before.
  public var segment: UInt32 = 0
  /// The segment's first sample.
  public var first: UInt64 = 0
  /// Whether `time(of:)` can be used. It holds for all samples of the segment, also for earlier ones.
  public var isPlaced = false
  /// Whether `rate` has been measured; else it is nominal.
  public var isMeasured = false
  /// The line goes through this sample at that time (nanoseconds).
  public var sample: UInt64 = 0
  public var time: Int64 = 0
  /// Samples per second of the picture's clock.
  public var rate: Double

  /// A line that is not placed yet.
  public init(rate: Double) { self.rate = rate }

  /// When that sample was heard, nanoseconds. Only times of samples within years of `sample` are exact.
  public func time(of number: UInt64) -> Int64 {
    let distance = Double(Int64(truncatingIfNeeded: number &- sample))
    return time.clampedSum(Int64(clamping: (distance * 1e9 / rate).rounded()))
  }

  /// The sample that was heard at that time, and parts of one; negative before the run's first.
  public func sample(at moment: Int64) -> Double {
    Double(sample) + Double(moment &- time) * rate / 1e9
  }
}

extension Int64 {
  /// The nearest number; 0 for NaN.
  package init(clamping value: Double) {
    self =
      value.isNaN
      ? 0 : value >= 0x1p63 ? .max : value <= -0x1p63 ? .min : Int64(value)
  }
}
