/// A point in time in nanoseconds on a named clock.
public struct Timestamp: Sendable, Hashable, BitwiseCopyable {
  /// A clock: times of different clocks cannot be compared.
  public enum Clock: UInt8, Sendable, Hashable, BitwiseCopyable, CaseIterable {
    /// `CLOCK_MONOTONIC` of this machine: devices and everything the engine stamps.
    case monotonic
    /// A file's own time line, as the file has it: the first frame need not be at 0.
    case media
    /// The time that a dump recorded; on replay only.
    case recorded
  }

  /// Nanoseconds since the clock's own beginning: of `.monotonic`, since the machine started.
  public var nanoseconds: Int64
  /// The clock that counted them.
  public var clock: Clock

  /// A time of a clock. For `.monotonic`, `monotonicNow()` is the present one.
  public init(nanoseconds: Int64, clock: Clock) {
    self.nanoseconds = nanoseconds
    self.clock = clock
  }

  /// Nanoseconds from `earlier` to this time; `nil` between different clocks, whose difference
  /// means nothing, and where it exceeds 292 years, as only a damaged file can have it.
  public func nanoseconds(since earlier: Timestamp) -> Int64? {
    guard clock == earlier.clock else { return nil }
    let (difference, overflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
    return overflow ? nil : difference
  }
}

/// The moment within a frame that its `captured` time stands for (`V4L2_BUF_FLAG_TSTAMP_SRC_*`).
public enum CapturePoint: UInt8, Sendable, BitwiseCopyable, CaseIterable {
  /// The source does not know.
  case unknown
  /// The sensor begins to collect light.
  case startOfExposure
  /// The last line has been read out.
  case endOfFrame
  /// The driver's stamp could not be right: the time is an estimate.
  case estimated
}
