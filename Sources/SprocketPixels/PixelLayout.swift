/// Where the samples of a frame lie in memory.
///
/// Code that works on pixels switches over this type without `default`. So a new format is described only in
/// `PixelFormat.layout`, and a new layout does not compile until all such code handles it.
public enum PixelLayout: Sendable, Hashable, BitwiseCopyable {
  /// One plane of bytes: a JPEG image, or a packet of H.264 or HEVC.
  case encoded
  /// One plane of luma, and two of chroma unless the subsampling is `gray`. Samples of more than 8 bits are
  /// 16-bit little-endian words.
  case planar(ChromaSubsampling, SampleDepth, ChromaOrder)
  /// One plane of luma, and one of interleaved chroma, two samples for 2x2 pixels.
  case semiPlanar420(ChromaOrder)
  /// The same with samples of more than 8 bits, in the high bits of 16-bit little-endian words. U comes
  /// before V.
  case semiPlanar420Words(SampleDepth)
  /// One plane of luma, its samples packed like those of a mosaic.
  case packedGray(BayerSamples)
  /// One plane, four bytes per two pixels.
  case packed422(PackedOrder)
  /// One plane, three or four bytes per pixel.
  case rgb(RGBOrder)
  /// One plane, red, green and blue and perhaps alpha, in 16-bit little-endian words.
  case rgbWords(RGBWords)
  /// One plane, one sample of one colour per pixel.
  case bayer(BayerOrder, BayerSamples)
}

/// Significant bits of a sample, in its low bits unless a layout says otherwise.
public enum SampleDepth: Int, Sendable, CaseIterable, BitwiseCopyable {
  case eight = 8
  case ten = 10
  case twelve = 12
  case sixteen = 16
}

/// Order of the two chroma components.
public enum ChromaOrder: Sendable, BitwiseCopyable {
  /// U (Cb), then V (Cr).
  case blueFirst
  /// V (Cr), then U (Cb).
  case redFirst
}

/// Byte order of packed 4:2:2.
public enum PackedOrder: CaseIterable, Sendable, BitwiseCopyable {
  /// Y U Y V: V4L2's `YUYV`, libyuv's YUY2.
  case yuyv
  /// U Y V Y: V4L2's `UYVY`.
  case uyvy
}

/// Byte order of a pixel with red, green and blue.
public enum RGBOrder: CaseIterable, Sendable, BitwiseCopyable {
  /// R G B: V4L2's `RGB3`, libyuv's RAW.
  case rgb
  /// B G R: V4L2's `BGR3`, libyuv's RGB24.
  case bgr
  /// B G R and an unused byte: V4L2's `BGR4`, libyuv's ARGB.
  case bgrx
  /// An unused byte and R G B: V4L2's `RGB4`, libyuv's BGRA.
  case xrgb
  /// R G B and alpha: libyuv's ABGR.
  case rgba
  /// B G R and alpha: libyuv's ARGB.
  case bgra
  /// Alpha and R G B: libyuv's BGRA.
  case argb

  /// 3 or 4.
  public var bytesPerPixel: Int {
    switch self {
    case .rgb, .bgr: 3
    case .bgrx, .xrgb, .rgba, .bgra, .argb: 4
    }
  }

  /// A byte of a pixel is its alpha.
  public var hasAlpha: Bool {
    switch self {
    case .rgb, .bgr, .bgrx, .xrgb: false
    case .rgba, .bgra, .argb: true
    }
  }
}

/// Words of a pixel with red, green and blue, in that order.
public enum RGBWords: Sendable, BitwiseCopyable {
  case rgb
  /// Alpha is the fourth.
  case rgba

  /// 3 or 4.
  public var perPixel: Int { self == .rgba ? 4 : 3 }
}

/// Colours of the mosaic's top left 2x2 pixels, row by row.
public enum BayerOrder: CaseIterable, Sendable, BitwiseCopyable {
  case rggb, grbg, gbrg, bggr
}

/// How the samples of a mosaic lie in its rows.
///
/// Source: the kernel's "Raw Bayer Formats" chapter (`V4L2_PIX_FMT_SRGGB8`, `SRGGB10`, `SRGGB10P` and so on).
public enum BayerSamples: CaseIterable, Sendable, BitwiseCopyable {
  /// One byte per pixel.
  case eight
  /// 10, 12 and 16 bits, the low ones of 16-bit little-endian words.
  case ten, twelve, sixteen
  /// 4 pixels in 5 bytes: the upper 8 bits of each, then the lower 2 bits of all, the first pixel's lowest.
  case packedTen
  /// 2 pixels in 3 bytes: the upper 8 bits of each, then the lower 4 bits of both, the first pixel's lowest.
  case packedTwelve

  public var depth: SampleDepth {
    switch self {
    case .eight: .eight
    case .ten, .packedTen: .ten
    case .twelve, .packedTwelve: .twelve
    case .sixteen: .sixteen
    }
  }

  /// Samples are 16-bit little-endian words.
  public var areWords: Bool {
    switch self {
    case .ten, .twelve, .sixteen: true
    case .eight, .packedTen, .packedTwelve: false
    }
  }

  /// Bytes of a row without padding. The last group of packed pixels is whole, used or not.
  public func bytesPerRow(width: Int) -> Int {
    switch self {
    case .eight: width
    case .ten, .twelve, .sixteen: 2 * width
    case .packedTen: (width + 3) / 4 * 5
    case .packedTwelve: (width + 1) / 2 * 3
    }
  }
}
