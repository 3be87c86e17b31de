internal import CSprocketLibAV
internal import SprocketPixels

// Conversion between pixel formats and the library's numbers. Decoded frames in other formats are converted
// to the nearest planar one. Full range is not part of the format here, see ``MediaColor``.

extension PixelFormat {
  /// The library's formats with the same layout; empty if no decoded frame has this format.
  private var libraryFormats: [AVPixelFormat] {
    switch self {
    case .i420: [AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P]
    case .yuv422p: [AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUVJ422P]
    case .yuv444p: [AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVJ444P]
    case .yuv440p: [AV_PIX_FMT_YUV440P, AV_PIX_FMT_YUVJ440P]
    case .yuv411p: [AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUVJ411P]
    case .grey: [AV_PIX_FMT_GRAY8]
    case .nv12: [AV_PIX_FMT_NV12]
    case .nv21: [AV_PIX_FMT_NV21]
    case .yuyv: [AV_PIX_FMT_YUYV422]
    case .uyvy: [AV_PIX_FMT_UYVY422]
    case .rgb24: [AV_PIX_FMT_RGB24]
    case .bgr24: [AV_PIX_FMT_BGR24]
    case .bgr32: [AV_PIX_FMT_BGR0]
    case .rgb32: [AV_PIX_FMT_0RGB]
    case .rgba32: [AV_PIX_FMT_RGBA]
    case .bgra32: [AV_PIX_FMT_BGRA]
    case .argb32: [AV_PIX_FMT_ARGB]
    case .rgb48: [AV_PIX_FMT_RGB48LE]
    case .rgba64: [AV_PIX_FMT_RGBA64LE]
    case .y10: [AV_PIX_FMT_GRAY10LE]
    case .y12: [AV_PIX_FMT_GRAY12LE]
    case .y16: [AV_PIX_FMT_GRAY16LE]
    case .yuv420p10: [AV_PIX_FMT_YUV420P10LE]
    case .yuv422p10: [AV_PIX_FMT_YUV422P10LE]
    case .yuv444p10: [AV_PIX_FMT_YUV444P10LE]
    case .yuv420p12: [AV_PIX_FMT_YUV420P12LE]
    case .yuv422p12: [AV_PIX_FMT_YUV422P12LE]
    case .yuv444p12: [AV_PIX_FMT_YUV444P12LE]
    case .yuv420p16: [AV_PIX_FMT_YUV420P16LE]
    case .yuv422p16: [AV_PIX_FMT_YUV422P16LE]
    case .yuv444p16: [AV_PIX_FMT_YUV444P16LE]
    case .bayerRGGB: [AV_PIX_FMT_BAYER_RGGB8]
    case .bayerGRBG: [AV_PIX_FMT_BAYER_GRBG8]
    case .bayerGBRG: [AV_PIX_FMT_BAYER_GBRG8]
    case .bayerBGGR: [AV_PIX_FMT_BAYER_BGGR8]
    case .bayerRGGB16: [AV_PIX_FMT_BAYER_RGGB16LE]
    case .bayerGRBG16: [AV_PIX_FMT_BAYER_GRBG16LE]
    case .bayerGBRG16: [AV_PIX_FMT_BAYER_GBRG16LE]
    case .bayerBGGR16: [AV_PIX_FMT_BAYER_BGGR16LE]
    case .p010: [AV_PIX_FMT_P010LE]
    // The library has no such format; P012 from FFmpeg 6 on.
    case .mjpeg, .h264, .hevc, .p012, .y10p, .y12p, .yv12, .bayerRGGB10, .bayerGRBG10, .bayerGBRG10,
      .bayerBGGR10,
      .bayerRGGB12,
      .bayerGRBG12, .bayerGBRG12, .bayerBGGR12, .bayerRGGB10P, .bayerGRBG10P, .bayerGBRG10P,
      .bayerBGGR10P, .bayerRGGB12P, .bayerGRBG12P, .bayerGBRG12P, .bayerBGGR12P:
      []
    }
  }

  /// The library's number for the layout.
  var libraryFormat: AVPixelFormat? { libraryFormats.first }

  /// From the library's number for a format with the same layout.
  private static let byNumber: [Int32: PixelFormat] = {
    var found: [Int32: PixelFormat] = [:]
    for format in allCases {
      for known in format.libraryFormats { found[known.rawValue] = format }
    }
    return found
  }()

  /// From the library's number; `nil` for formats that need a conversion.
  init?(_ format: AVPixelFormat) {
    guard let known = Self.byNumber[format.rawValue] else { return nil }
    self = known
  }

  /// Targets of conversions, ending with the library's end mark.
  static let targets = [
    AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P, AV_PIX_FMT_GRAY8,
    AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV422P10LE, AV_PIX_FMT_YUV444P10LE, AV_PIX_FMT_GRAY10LE,
    AV_PIX_FMT_YUV420P12LE, AV_PIX_FMT_YUV422P12LE, AV_PIX_FMT_YUV444P12LE, AV_PIX_FMT_GRAY12LE,
    AV_PIX_FMT_YUV420P16LE, AV_PIX_FMT_YUV422P16LE, AV_PIX_FMT_YUV444P16LE, AV_PIX_FMT_GRAY16LE,
    AV_PIX_FMT_NONE,
  ]

  /// The target for frames of a library format: the one that loses least.
  ///
  /// The corresponding C function is `avcodec_find_best_pix_fmt_of_list`.
  static func nearest(_ format: AVPixelFormat) -> AVPixelFormat {
    // RGB of up to 16 bits, of a palette, and grey with alpha, lose nothing. Floats are cut off at 0 and 1.
    if let known = unsafe libav.av_pix_fmt_desc_get(format),
      unsafe Converter.isRGB(format) || known.pointee.nb_components == 2
    {
      let hasAlpha = unsafe known.pointee.flags & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0
      let isDeep = unsafe known.pointee.comp.0.depth > 8
      return isDeep
        ? hasAlpha ? AV_PIX_FMT_RGBA64LE : AV_PIX_FMT_RGB48LE
        : hasAlpha ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24
    }
    let best = unsafe targets.withUnsafeBufferPointer { list in
      unsafe libav.avcodec_find_best_pix_fmt_of_list(list.baseAddress, format, 0, nil)
    }
    return best == AV_PIX_FMT_NONE ? AV_PIX_FMT_YUV420P : best
  }
}
