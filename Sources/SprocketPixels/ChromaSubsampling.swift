/// Number of pixels that share one chroma sample, and the plane sizes that follow from it.
public enum ChromaSubsampling: Sendable, CaseIterable, BitwiseCopyable {
  /// 4:4:4: one chroma sample per pixel.
  case yuv444
  /// 4:2:2: one per 2x1 pixels; most USB cameras send it.
  case yuv422
  /// 4:2:0: one per 2x2 pixels.
  case yuv420
  /// No chroma.
  case gray
  /// 4:4:0: one per 1x2 pixels.
  case yuv440
  /// 4:1:1: one per 4x1 pixels.
  case yuv411

  /// Pixels per chroma sample, horizontally.
  public var horizontalFactor: Int {
    switch self {
    case .yuv444, .gray, .yuv440: 1
    case .yuv422, .yuv420: 2
    case .yuv411: 4
    }
  }

  /// Pixels per chroma sample, vertically.
  public var verticalFactor: Int {
    switch self {
    case .yuv444, .gray, .yuv422, .yuv411: 1
    case .yuv420, .yuv440: 2
    }
  }

  /// Planes in an image: 3, or 1 for gray.
  public var planeCount: Int { self == .gray ? 1 : 3 }

  /// Samples per row of a plane in JPEG decoding and encoding.
  ///
  /// A width that is not a multiple of ``horizontalFactor`` is rounded up to one, *for luma too*: a 4:2:0
  /// image 5 pixels wide has 6 luma samples per row, and 3 chroma samples.
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
