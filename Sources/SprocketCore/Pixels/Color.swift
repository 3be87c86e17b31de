/// What the numbers of an image mean as light.
public struct Color: Sendable, Hashable, BitwiseCopyable {
  /// Which numbers black and white have.
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

  /// Where a sample of subsampled chroma lies among the luma samples that it belongs to.
  public enum ChromaSite: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    /// In their middle: JPEG, MPEG-1.
    case center
    /// Beside the left ones, halfway down: MPEG-2, H.264 where nothing else is said, 4:2:2 of cameras.
    case left
    /// On the top left one: UHD video (ITU-R BT.2020).
    case topLeft
  }

  /// What a file says, by the numbers of ITU-T H.273 (tables 2 to 4); 2 where it says nothing. Several
  /// numbers mean one `Matrix` or `Transfer`, and movies keep theirs.
  public struct Codes: Sendable, Hashable, BitwiseCopyable {
    /// Which red, green and blue: 1 is BT.709, 9 BT.2020, 12 Display P3.
    public var primaries: UInt8
    public var transfer: UInt8
    public var matrix: UInt8

    public init(primaries: UInt8 = 2, transfer: UInt8 = 2, matrix: UInt8 = 2) {
      (self.primaries, self.transfer, self.matrix) = (primaries, transfer, matrix)
    }
  }

  public var range: Range
  public var matrix: Matrix
  public var transfer: Transfer
  public var chromaSite: ChromaSite
  public var codes: Codes

  public init(
    range: Range, matrix: Matrix = .unspecified, transfer: Transfer = .unspecified,
    chromaSite: ChromaSite = .center, codes: Codes = Codes()
  ) {
    self.range = range
    self.matrix = matrix
    self.transfer = transfer
    self.chromaSite = chromaSite
    self.codes = codes
  }

  /// JFIF: full range, BT.601, sRGB.
  public static let jpeg = Color(range: .full, matrix: .bt601, transfer: .srgb)
  /// Video where nothing else is said: limited range.
  public static let video = Color(range: .limited)
}
