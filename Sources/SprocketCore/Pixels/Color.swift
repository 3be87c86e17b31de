/// What the numbers of an image mean as light.
public struct Color: Sendable, Hashable, BitwiseCopyable {
  public enum Range: UInt8, Sendable, BitwiseCopyable {
    /// Luma 0 to 255.
    case full
    /// Luma 16 to 235, chroma 16 to 240 (ITU-R BT.601).
    case limited
  }

  /// How RGB became YUV (`V4L2_YCBCR_ENC_*`, ITU-T H.273 table 4).
  public enum Matrix: UInt8, Sendable, BitwiseCopyable {
    case unspecified, bt601, bt709, bt2020
  }

  /// How light became numbers (`V4L2_XFER_FUNC_*`, ITU-T H.273 table 3).
  public enum Transfer: UInt8, Sendable, BitwiseCopyable {
    case unspecified, srgb, bt709, linear, gamma22, gamma28, pq, hlg
  }

  public var range: Range
  public var matrix: Matrix
  public var transfer: Transfer

  public init(range: Range, matrix: Matrix = .unspecified, transfer: Transfer = .unspecified) {
    self.range = range
    self.matrix = matrix
    self.transfer = transfer
  }

  /// JFIF: full range, BT.601, sRGB.
  public static let jpeg = Color(range: .full, matrix: .bt601, transfer: .srgb)
  /// Video where nothing else is said: limited range.
  public static let video = Color(range: .limited)
}
