internal import CSprocketJPEG
internal import SprocketPixels

extension ChromaSubsampling {
  /// libturbojpeg's number for this subsampling.
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

  /// From libturbojpeg's number; `nil` if there is no case for it.
  init?(code: Int32) {
    guard let match = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = match
  }

  /// From the sampling factors in a frame header; `nil` if there is no case for them.
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
