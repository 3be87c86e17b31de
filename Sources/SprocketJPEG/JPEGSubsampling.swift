internal import CSprocketJPEG

/// How many pixels share one chroma sample, with the sizes of planes that follow.
public enum JPEGSubsampling: Int, CaseIterable, Sendable {
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

  /// Samples in a row of a plane as ``JPEGDecoder`` writes and ``JPEGEncoder`` reads it.
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

  /// The library's number for it.
  var code: Int32 {
    switch self {
    case .yuv444: Int32(TJSAMP_444.rawValue)
    case .yuv422: Int32(TJSAMP_422.rawValue)
    case .yuv420: Int32(TJSAMP_420.rawValue)
    case .gray: Int32(TJSAMP_GRAY.rawValue)
    case .yuv440: Int32(TJSAMP_440.rawValue)
    case .yuv411: Int32(TJSAMP_411.rawValue)
    }
  }

  /// From the library's number, `nil` where it has none.
  init?(code: Int32) {
    guard let match = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = match
  }

  /// From the sampling factors of a frame header's components, `nil` for those that have no case.
  init?(luma: (Int, Int), blue: (Int, Int), red: (Int, Int)) {
    guard blue == red, luma.0 % blue.0 == 0, luma.1 % blue.1 == 0 else { return nil }
    switch (luma.0 / blue.0, luma.1 / blue.1) {
    case (1, 1): self = .yuv444
    case (2, 1): self = .yuv422
    case (2, 2): self = .yuv420
    case (1, 2): self = .yuv440
    case (4, 1): self = .yuv411
    default: return nil
    }
  }
}

/// The sizes at which a JPEG image can be decoded at less cost than in full.
public enum JPEGScale: Int, CaseIterable, Sendable {
  case full = 1
  case half = 2
  case quarter = 4
  case eighth = 8

  /// A side of the decoded image, in pixels: rounded up.
  ///
  /// The corresponding C macro is `TJSCALED`.
  public func scaled(_ side: Int) -> Int { (side + rawValue - 1) / rawValue }
}
