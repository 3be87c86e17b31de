/// Speed of a source that does not depend on a clock, such as a file.
public enum SourcePace: String, Sendable, CaseIterable, SettingValue {
  /// As fast as the chain takes frames. No frame is lost.
  case fast
  /// Each frame at its own time: the source is live, and frames that the chain does not take in time are
  /// lost.
  case real
}

extension Int64 {
  /// The sum, clamped to the range of `Int64`: files and settings may contain any time.
  package func clampedSum(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, clamped to the range of `Int64`: a deadline may be `.max`, and a clock negative.
  package func clampedDifference(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
