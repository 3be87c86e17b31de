/// Where the samples of a frame lie in memory.
///
/// Code that works on pixels switches over this and names every case: a new format is described once, in
/// `PixelFormat.layout`, and a new layout fails to compile wherever it matters.
public enum PixelLayout: Sendable, Hashable, BitwiseCopyable {
  /// One JPEG image per frame.
  case jpeg
  /// A plane of luma, and one for each kind of chroma where there is any. Samples of more than 8 bits
  /// are 16-bit little-endian words.
  case planar(ChromaSubsampling, SampleDepth, ChromaOrder)
  /// A plane of luma, and one in which the two kinds of chroma take turns, for 2x2 pixels each.
  case semiPlanar420(ChromaOrder)
  /// One plane, four bytes for two pixels.
  case packed422(PackedOrder)
  /// One plane, three or four bytes for a pixel.
  case rgb(RGBOrder)
  /// One plane, a byte for a pixel, of one colour each.
  case bayer(BayerOrder)
}

/// Bits of a sample that are used, from the lowest.
public enum SampleDepth: Int, Sendable, CaseIterable, BitwiseCopyable {
  case eight = 8
  case ten = 10
  case twelve = 12
  case sixteen = 16
}

/// Which kind of chroma comes first.
public enum ChromaOrder: Sendable, BitwiseCopyable {
  /// U, then V.
  case blueFirst
  /// V, then U.
  case redFirst
}

/// The order of bytes in packed 4:2:2.
public enum PackedOrder: CaseIterable, Sendable, BitwiseCopyable {
  /// Y U Y V: V4L2's `YUYV`, libyuv's YUY2.
  case yuyv
  /// U Y V Y: V4L2's `UYVY`.
  case uyvy
}

/// The order of bytes in a pixel with red, green and blue.
public enum RGBOrder: CaseIterable, Sendable, BitwiseCopyable {
  /// R G B: V4L2's `RGB3`, libyuv's RAW.
  case rgb
  /// B G R: V4L2's `BGR3`, libyuv's RGB24.
  case bgr
  /// B G R and an unused byte: V4L2's `BGR4`, libyuv's ARGB.
  case bgrx
  /// An unused byte and R G B: V4L2's `RGB4`, libyuv's BGRA.
  case xrgb

  /// 3 or 4.
  public var bytesPerPixel: Int {
    switch self {
    case .rgb, .bgr: 3
    case .bgrx, .xrgb: 4
    }
  }
}

/// The colours of a mosaic's first 2x2 pixels, row by row.
public enum BayerOrder: Sendable, BitwiseCopyable {
  case rggb, grbg, gbrg, bggr
}
