internal import CSprocketLibAV

/// The layouts in which decoded frames come; all others are converted to the nearest of these with
/// planes. Full range is not part of the format here, see ``MediaColor``.
public enum MediaPixelFormat: CaseIterable, Sendable {
  case yuv420p, yuv422p, yuv444p, yuv440p, yuv411p
  case gray
  case nv12, nv21
  case yuyv422, uyvy422
  case rgb24, bgr24
  /// B G R and a byte that is unused (or alpha, which is ignored).
  case bgr0
  /// A byte that is unused (or alpha, which is ignored) and R G B.
  case xrgb
  /// 10, 12 and 16 bits of gray in 16-bit little-endian words.
  case gray10le, gray12le, gray16le
  /// The same of YUV.
  case yuv420p10le, yuv422p10le, yuv444p10le
  case yuv420p12le, yuv422p12le, yuv444p12le
  case yuv420p16le, yuv422p16le, yuv444p16le

  /// From the library's number; `nil` for formats that are converted.
  init?(_ format: AVPixelFormat) {
    switch format {
    case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: self = .yuv420p
    case AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUVJ422P: self = .yuv422p
    case AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVJ444P: self = .yuv444p
    case AV_PIX_FMT_YUV440P, AV_PIX_FMT_YUVJ440P: self = .yuv440p
    case AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUVJ411P: self = .yuv411p
    case AV_PIX_FMT_GRAY8: self = .gray
    case AV_PIX_FMT_NV12: self = .nv12
    case AV_PIX_FMT_NV21: self = .nv21
    case AV_PIX_FMT_YUYV422: self = .yuyv422
    case AV_PIX_FMT_UYVY422: self = .uyvy422
    case AV_PIX_FMT_RGB24: self = .rgb24
    case AV_PIX_FMT_BGR24: self = .bgr24
    case AV_PIX_FMT_BGR0, AV_PIX_FMT_BGRA: self = .bgr0
    case AV_PIX_FMT_0RGB, AV_PIX_FMT_ARGB: self = .xrgb
    case AV_PIX_FMT_GRAY10LE: self = .gray10le
    case AV_PIX_FMT_GRAY12LE: self = .gray12le
    case AV_PIX_FMT_GRAY16LE: self = .gray16le
    case AV_PIX_FMT_YUV420P10LE: self = .yuv420p10le
    case AV_PIX_FMT_YUV422P10LE: self = .yuv422p10le
    case AV_PIX_FMT_YUV444P10LE: self = .yuv444p10le
    case AV_PIX_FMT_YUV420P12LE: self = .yuv420p12le
    case AV_PIX_FMT_YUV422P12LE: self = .yuv422p12le
    case AV_PIX_FMT_YUV444P12LE: self = .yuv444p12le
    case AV_PIX_FMT_YUV420P16LE: self = .yuv420p16le
    case AV_PIX_FMT_YUV422P16LE: self = .yuv422p16le
    case AV_PIX_FMT_YUV444P16LE: self = .yuv444p16le
    default: return nil
    }
  }

  /// 1, 2 or 3.
  public var planeCount: Int {
    switch self {
    case .nv12, .nv21: 2
    case .gray, .yuyv422, .uyvy422, .rgb24, .bgr24, .bgr0, .xrgb, .gray10le, .gray12le, .gray16le: 1
    default: 3
    }
  }

  /// A plane's bytes per row without padding, and its rows.
  public func plane(_ index: Int, width: Int, height: Int) -> (bytesPerRow: Int, rows: Int) {
    let (halfWidth, halfHeight) = ((width + 1) / 2, (height + 1) / 2)
    switch self {
    case .yuv420p: return index == 0 ? (width, height) : (halfWidth, halfHeight)
    case .yuv422p: return index == 0 ? (width, height) : (halfWidth, height)
    case .yuv440p: return index == 0 ? (width, height) : (width, halfHeight)
    case .yuv411p: return index == 0 ? (width, height) : ((width + 3) / 4, height)
    case .nv12, .nv21: return index == 0 ? (width, height) : (2 * halfWidth, halfHeight)
    case .yuv444p, .gray: return (width, height)
    case .yuyv422, .uyvy422: return (4 * halfWidth, height)
    case .rgb24, .bgr24: return (3 * width, height)
    case .bgr0, .xrgb: return (4 * width, height)
    case .gray10le, .gray12le, .gray16le: return (2 * width, height)
    case .yuv420p10le, .yuv420p12le, .yuv420p16le:
      return index == 0 ? (2 * width, height) : (2 * halfWidth, halfHeight)
    case .yuv422p10le, .yuv422p12le, .yuv422p16le:
      return (index == 0 ? 2 * width : 2 * halfWidth, height)
    case .yuv444p10le, .yuv444p12le, .yuv444p16le: return (2 * width, height)
    }
  }

  /// The formats that others are converted to, ending with the library's mark.
  static let targets = [
    AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P, AV_PIX_FMT_GRAY8,
    AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV422P10LE, AV_PIX_FMT_YUV444P10LE, AV_PIX_FMT_GRAY10LE,
    AV_PIX_FMT_YUV420P12LE, AV_PIX_FMT_YUV422P12LE, AV_PIX_FMT_YUV444P12LE, AV_PIX_FMT_GRAY12LE,
    AV_PIX_FMT_YUV420P16LE, AV_PIX_FMT_YUV422P16LE, AV_PIX_FMT_YUV444P16LE, AV_PIX_FMT_GRAY16LE,
    AV_PIX_FMT_NONE,
  ]

  /// What frames of a format of the library are converted to: the target that loses least.
  ///
  /// The corresponding C function is `avcodec_find_best_pix_fmt_of_list`.
  static func nearest(_ format: AVPixelFormat) -> AVPixelFormat {
    let best = unsafe targets.withUnsafeBufferPointer { list in
      unsafe avcodec_find_best_pix_fmt_of_list(list.baseAddress, format, 0, nil)
    }
    return best == AV_PIX_FMT_NONE ? AV_PIX_FMT_YUV420P : best
  }
}
