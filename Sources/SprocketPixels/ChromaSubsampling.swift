/// How many pixels share one chroma sample, with the sizes of planes that follow.
public enum ChromaSubsampling: Sendable, CaseIterable, BitwiseCopyable {
  /// One chroma sample per pixel.
  case yuv444
  /// One per 2x1 pixels: what most USB cameras send.
  case yuv422
  /// One per 2x2 pixels.
  case yuv420
  /// No chroma.
  case gray
  /// One per 1x2 pixels.
  case yuv440
  /// One per 4x1 pixels.
  case yuv411

  /// Pixels per chroma sample, across.
  public var horizontalFactor: Int {
    switch self {
    case .yuv444, .gray, .yuv440: 1
    case .yuv422, .yuv420: 2
    case .yuv411: 4
    }
  }

  /// Pixels per chroma sample, down.
  public var verticalFactor: Int {
    switch self {
    case .yuv444, .gray, .yuv422, .yuv411: 1
    case .yuv420, .yuv440: 2
    }
  }

  /// Planes in an image: 3, or 1 for gray.
  public var planeCount: Int { self == .gray ? 1 : 3 }

  /// Samples in a row of a plane as JPEG's decoder writes and its encoder reads it.
  ///
  /// A width that is not a multiple of ``horizontalFactor`` is rounded up to one, *for luma too*:
  /// a 5 pixels wide 4:2:0 image has 6 samples of luma in a row, and 3 of chroma.
  ///
  /// The corresponding C function is `tjPlaneWidth`.
  public func planeWidth(_ plane: Int, imageWidth: Int) -> Int {
    let padded = (imageWidth + horizontalFactor - 1) / horizontalFactor
    return plane == 0 ? padded * horizontalFactor : padded
  }

  /// Rows of a plane, rounded up as in ``planeWidth(_:imageWidth:)``.
  ///
  /// The corresponding C function is `tjPlaneHeight`.
  public func planeHeight(_ plane: Int, imageHeight: Int) -> Int {
    let padded = (imageHeight + verticalFactor - 1) / verticalFactor
    return plane == 0 ? padded * verticalFactor : padded
  }
}
