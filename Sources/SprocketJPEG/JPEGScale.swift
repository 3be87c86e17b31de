/// Reduced sizes at which a JPEG image can be decoded faster.
public enum JPEGScale: Int, CaseIterable, Sendable {
  case full = 1
  case half = 2
  case quarter = 4
  case eighth = 8

  /// A side of the decoded image in pixels, rounded up.
  ///
  /// The corresponding C macro is `TJSCALED`.
  public func scaled(_ side: Int) -> Int { (side + rawValue - 1) / rawValue }
}
