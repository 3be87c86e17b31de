/// How fast a source that could deliver everything at once does so.
public enum SourcePace: String, Sendable, CaseIterable, SettingValue {
  /// As fast as frames are taken; none is ever lost.
  case fast
  /// Each when it is due: the source is live, and what nobody takes in time is lost.
  case real
}

extension Int64 {
  /// The sum, or the number nearest to it that there is: files and settings may ask for any time.
  package func clampedSum(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}
