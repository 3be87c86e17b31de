/// Byte layout of a frame. Names and byte orders are V4L2's; planar YUV of more than 8 bits has FFmpeg's
/// names, because V4L2 has none.
///
/// Source: the kernel's "Image Formats" chapter (`V4L2_PIX_FMT_*`).
public enum PixelFormat: UInt8, Sendable, Hashable, CaseIterable, BitwiseCopyable {
  /// One JPEG image per frame.
  case mjpeg
  /// One packet per frame, with start codes (Annex B). A camera is asked for it, and gives pictures with
  /// their packets: `FrameFormat.packets`.
  case h264, hevc
  /// Packed 4:2:2, 8 bits, in memory order Y U Y V and U Y V Y.
  case yuyv, uyvy
  /// 4:2:0, 8 bits, with one plane of interleaved chroma: U V and V U.
  case nv12, nv21
  /// Planar 4:2:0, 8 bits: Y U V and Y V U.
  case i420, yv12
  /// Planar 4:2:2, 4:4:4, 4:4:0 and 4:1:1, 8 bits.
  case yuv422p, yuv444p, yuv440p, yuv411p
  /// Luma only: 8 bits; 10, 12 and 16 bits in 16-bit little-endian words.
  case grey, y10, y12, y16
  /// Packed, in memory order: R G B; B G R; B G R X; X R G B.
  case rgb24, bgr24, bgr32, rgb32
  /// Packed, with alpha, in memory order: R G B A; B G R A; A R G B. Alpha is not multiplied into colours.
  case rgba32, bgra32, argb32
  /// Packed, in 16-bit little-endian words, in memory order: R G B; R G B A.
  case rgb48, rgba64
  /// Bayer mosaics of 8 bits. The stage `debayer` makes pictures of them; the engine itself does not.
  case bayerRGGB, bayerGRBG, bayerGBRG, bayerBGGR
  /// Bayer mosaics of 10, 12 and 16 bits in 16-bit little-endian words.
  case bayerRGGB10, bayerGRBG10, bayerGBRG10, bayerBGGR10
  case bayerRGGB12, bayerGRBG12, bayerGBRG12, bayerBGGR12
  case bayerRGGB16, bayerGRBG16, bayerGBRG16, bayerBGGR16
  /// Bayer mosaics packed as MIPI CSI-2 has them: 10 bits, 4 pixels in 5 bytes; 12 bits, 2 pixels in 3 bytes.
  case bayerRGGB10P, bayerGRBG10P, bayerGBRG10P, bayerBGGR10P
  case bayerRGGB12P, bayerGRBG12P, bayerGBRG12P, bayerBGGR12P
  /// Planar 4:2:0, 4:2:2 and 4:4:4 of 10, 12 and 16 bits in 16-bit little-endian words.
  case yuv420p10, yuv422p10, yuv444p10
  case yuv420p12, yuv422p12, yuv444p12
  case yuv420p16, yuv422p16, yuv444p16
  /// 4:2:0 with one plane of interleaved chroma, U V, of 10 and 12 bits: the high ones of 16-bit
  /// little-endian words.
  case p010, p012
  /// Luma only, packed as MIPI CSI-2 has it: 10 bits, 4 pixels in 5 bytes; 12 bits, 2 pixels in 3 bytes.
  case y10p, y12p

  /// V4L2's four-character code, or FFmpeg's name in capitals if V4L2 has none.
  public var fourcc: String {
    switch self {
    case .mjpeg: "MJPG"
    case .h264: "H264"
    case .hevc: "HEVC"
    case .yuyv: "YUYV"
    case .uyvy: "UYVY"
    case .nv12: "NV12"
    case .nv21: "NV21"
    case .i420: "YU12"
    case .yv12: "YV12"
    case .yuv422p: "422P"
    case .yuv444p: "444P"
    case .yuv440p: "440P"
    case .yuv411p: "411P"
    case .grey: "GREY"
    case .y10: "Y10 "
    case .y12: "Y12 "
    case .y16: "Y16 "
    case .rgb24: "RGB3"
    case .bgr24: "BGR3"
    case .bgr32: "BGR4"
    case .rgb32: "RGB4"
    case .rgba32: "RGBA"
    case .bgra32: "BGRA"
    case .argb32: "ARGB"
    case .bayerRGGB: "RGGB"
    case .bayerGRBG: "GRBG"
    case .bayerGBRG: "GBRG"
    case .bayerBGGR: "BA81"
    case .bayerRGGB10: "RG10"
    case .bayerGRBG10: "BA10"
    case .bayerGBRG10: "GB10"
    case .bayerBGGR10: "BG10"
    case .bayerRGGB12: "RG12"
    case .bayerGRBG12: "BA12"
    case .bayerGBRG12: "GB12"
    case .bayerBGGR12: "BG12"
    case .bayerRGGB16: "RG16"
    case .bayerGRBG16: "GR16"
    case .bayerGBRG16: "GB16"
    case .bayerBGGR16: "BYR2"
    case .bayerRGGB10P: "pRAA"
    case .bayerGRBG10P: "pgAA"
    case .bayerGBRG10P: "pGAA"
    case .bayerBGGR10P: "pBAA"
    case .bayerRGGB12P: "pRCC"
    case .bayerGRBG12P: "pgCC"
    case .bayerGBRG12P: "pGCC"
    case .bayerBGGR12P: "pBCC"
    case .yuv420p10, .yuv422p10, .yuv444p10, .yuv420p12, .yuv422p12, .yuv444p12, .yuv420p16,
      .yuv422p16, .yuv444p16, .p010, .p012, .y10p, .y12p, .rgb48, .rgba64:
      String(describing: self).uppercased()
    }
  }

  /// The format with that four-character code or common name (`I420`, `MJPEG`, `RGB24`, and V4L2's names of
  /// mosaics, such as `SRGGB10P`). In any case, but for the codes that differ in nothing else: `pgAA` and
  /// `pGAA`, `pgCC` and `pGCC`.
  public init?(fourcc text: String) {
    let upper = text.uppercased()
    let aliases: [String: PixelFormat] = [
      "MJPEG": .mjpeg, "JPEG": .mjpeg, "I420": .i420, "Y10": .y10, "Y12": .y12, "Y16": .y16,
      "RGB24": .rgb24, "BGR24": .bgr24, "GRAY": .grey, "YUY2": .yuyv, "I422": .yuv422p,
      "I444": .yuv444p, "AVC1": .h264, "H265": .hevc,
    ]
    let same = Self.allCases.filter { $0.fourcc.uppercased() == upper }
    let found =
      same.first { $0.fourcc == text } ?? (same.count == 1 ? same[0] : nil) ?? aliases[upper]
      ?? Self.allCases.first { $0.mosaicName == upper }
    guard let found else { return nil }
    self = found
  }

  /// What follows `V4L2_PIX_FMT_`; `nil` for formats that are no mosaics.
  private var mosaicName: String? {
    guard case .bayer(let order, let samples) = layout else { return nil }
    let packed = samples == .packedTen || samples == .packedTwelve ? "P" : ""
    return "S\(order)\(bitsPerSample)\(packed)".uppercased()
  }

  /// Where the samples are in memory. Code that depends on this switches over the layout and not over
  /// formats.
  public var layout: PixelLayout {
    switch self {
    case .mjpeg, .h264, .hevc: .encoded
    case .yuyv, .uyvy: .packed422(self == .yuyv ? .yuyv : .uyvy)
    case .nv12, .nv21: .semiPlanar420(self == .nv12 ? .blueFirst : .redFirst)
    case .i420: .planar(.yuv420, .eight, .blueFirst)
    case .yv12: .planar(.yuv420, .eight, .redFirst)
    case .yuv422p: .planar(.yuv422, .eight, .blueFirst)
    case .yuv444p: .planar(.yuv444, .eight, .blueFirst)
    case .yuv440p: .planar(.yuv440, .eight, .blueFirst)
    case .yuv411p: .planar(.yuv411, .eight, .blueFirst)
    case .grey: .planar(.gray, .eight, .blueFirst)
    case .y10: .planar(.gray, .ten, .blueFirst)
    case .y12: .planar(.gray, .twelve, .blueFirst)
    case .y16: .planar(.gray, .sixteen, .blueFirst)
    case .rgb24: .rgb(.rgb)
    case .bgr24: .rgb(.bgr)
    case .bgr32: .rgb(.bgrx)
    case .rgb32: .rgb(.xrgb)
    case .rgba32: .rgb(.rgba)
    case .bgra32: .rgb(.bgra)
    case .argb32: .rgb(.argb)
    case .rgb48, .rgba64: .rgbWords(self == .rgba64 ? .rgba : .rgb)
    case .bayerRGGB: .bayer(.rggb, .eight)
    case .bayerGRBG: .bayer(.grbg, .eight)
    case .bayerGBRG: .bayer(.gbrg, .eight)
    case .bayerBGGR: .bayer(.bggr, .eight)
    case .bayerRGGB10: .bayer(.rggb, .ten)
    case .bayerGRBG10: .bayer(.grbg, .ten)
    case .bayerGBRG10: .bayer(.gbrg, .ten)
    case .bayerBGGR10: .bayer(.bggr, .ten)
    case .bayerRGGB12: .bayer(.rggb, .twelve)
    case .bayerGRBG12: .bayer(.grbg, .twelve)
    case .bayerGBRG12: .bayer(.gbrg, .twelve)
    case .bayerBGGR12: .bayer(.bggr, .twelve)
    case .bayerRGGB16: .bayer(.rggb, .sixteen)
    case .bayerGRBG16: .bayer(.grbg, .sixteen)
    case .bayerGBRG16: .bayer(.gbrg, .sixteen)
    case .bayerBGGR16: .bayer(.bggr, .sixteen)
    case .bayerRGGB10P: .bayer(.rggb, .packedTen)
    case .bayerGRBG10P: .bayer(.grbg, .packedTen)
    case .bayerGBRG10P: .bayer(.gbrg, .packedTen)
    case .bayerBGGR10P: .bayer(.bggr, .packedTen)
    case .bayerRGGB12P: .bayer(.rggb, .packedTwelve)
    case .bayerGRBG12P: .bayer(.grbg, .packedTwelve)
    case .bayerGBRG12P: .bayer(.gbrg, .packedTwelve)
    case .bayerBGGR12P: .bayer(.bggr, .packedTwelve)
    case .yuv420p10: .planar(.yuv420, .ten, .blueFirst)
    case .yuv422p10: .planar(.yuv422, .ten, .blueFirst)
    case .yuv444p10: .planar(.yuv444, .ten, .blueFirst)
    case .yuv420p12: .planar(.yuv420, .twelve, .blueFirst)
    case .yuv422p12: .planar(.yuv422, .twelve, .blueFirst)
    case .yuv444p12: .planar(.yuv444, .twelve, .blueFirst)
    case .yuv420p16: .planar(.yuv420, .sixteen, .blueFirst)
    case .yuv422p16: .planar(.yuv422, .sixteen, .blueFirst)
    case .yuv444p16: .planar(.yuv444, .sixteen, .blueFirst)
    case .p010, .p012: .semiPlanar420Words(self == .p010 ? .ten : .twelve)
    case .y10p, .y12p: .packedGray(self == .y10p ? .packedTen : .packedTwelve)
    }
  }
}
