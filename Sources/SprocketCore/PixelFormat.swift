/// How the bytes of a frame are laid out; names and byte orders are V4L2's. Planar YUV of more than
/// 8 bits has FFmpeg's names, for V4L2 has none.
///
/// Source: the kernel's "Image Formats" chapter (`V4L2_PIX_FMT_*`).
public enum PixelFormat: UInt8, Sendable, Hashable, CaseIterable, BitwiseCopyable {
  /// One JPEG image per frame.
  case mjpeg
  /// Packed 4:2:2, 8 bits: Y U Y V and U Y V Y.
  case yuyv, uyvy
  /// 4:2:0 with one plane of interleaved chroma: U V and V U.
  case nv12, nv21
  /// Planar 4:2:0: Y U V and Y V U.
  case i420, yv12
  /// Planar 4:2:2, 4:4:4, 4:4:0 and 4:1:1.
  case yuv422p, yuv444p, yuv440p, yuv411p
  /// Luma alone: 8 bits; 10, 12 and 16 bits in 16-bit little-endian words.
  case grey, y10, y12, y16
  /// Packed, in memory order: R G B; B G R; B G R X; X R G B.
  case rgb24, bgr24, bgr32, rgb32
  /// 8-bit Bayer mosaics, carried as opaque bytes.
  case bayerRGGB, bayerGRBG, bayerGBRG, bayerBGGR
  /// Planar 4:2:0, 4:2:2 and 4:4:4 of 10, 12 and 16 bits in 16-bit little-endian words.
  case yuv420p10, yuv422p10, yuv444p10
  case yuv420p12, yuv422p12, yuv444p12
  case yuv420p16, yuv422p16, yuv444p16

  /// V4L2's four-character code, or FFmpeg's name in capitals where there is none.
  public var fourcc: String {
    switch self {
    case .mjpeg: "MJPG"
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
    case .bayerRGGB: "RGGB"
    case .bayerGRBG: "GRBG"
    case .bayerGBRG: "GBRG"
    case .bayerBGGR: "BA81"
    case .yuv420p10: "YUV420P10"
    case .yuv422p10: "YUV422P10"
    case .yuv444p10: "YUV444P10"
    case .yuv420p12: "YUV420P12"
    case .yuv422p12: "YUV422P12"
    case .yuv444p12: "YUV444P12"
    case .yuv420p16: "YUV420P16"
    case .yuv422p16: "YUV422P16"
    case .yuv444p16: "YUV444P16"
    }
  }

  /// The format of that four-character code or common name (`I420`, `MJPEG`, `RGB24`), in any case.
  public init?(fourcc text: String) {
    let upper = text.uppercased()
    let aliases: [String: PixelFormat] = [
      "MJPEG": .mjpeg, "JPEG": .mjpeg, "I420": .i420, "Y10": .y10, "Y12": .y12, "Y16": .y16,
      "RGB24": .rgb24, "BGR24": .bgr24, "GRAY": .grey, "YUY2": .yuyv, "I422": .yuv422p,
      "I444": .yuv444p,
    ]
    guard let found = Self.allCases.first(where: { $0.fourcc == upper }) ?? aliases[upper] else {
      return nil
    }
    self = found
  }

  public var isEncoded: Bool { self == .mjpeg }

  /// True for a sensor mosaic, which has neither luma nor image here.
  public var isBayer: Bool {
    switch self {
    case .bayerRGGB, .bayerGRBG, .bayerGBRG, .bayerBGGR: true
    default: false
    }
  }

  /// Formats that a stage may be handed as `.image`: planar, luma in plane 0.
  public var isPlanar: Bool {
    switch self {
    case .i420, .yv12, .yuv422p, .yuv444p, .yuv440p, .yuv411p, .grey: true
    default: isDeep
    }
  }

  /// Bits of a sample that are used, from the lowest; 8 for an encoded frame.
  public var bitsPerSample: Int {
    switch self {
    case .y10, .yuv420p10, .yuv422p10, .yuv444p10: 10
    case .y12, .yuv420p12, .yuv422p12, .yuv444p12: 12
    case .y16, .yuv420p16, .yuv422p16, .yuv444p16: 16
    default: 8
    }
  }

  /// Samples have more than 8 bits, in 16-bit little-endian words.
  public var isDeep: Bool { bitsPerSample > 8 }

  /// The same planes with 8 bits per sample.
  public var reduced: PixelFormat {
    switch self {
    case .y10, .y12, .y16: .grey
    case .yuv420p10, .yuv420p12, .yuv420p16: .i420
    case .yuv422p10, .yuv422p12, .yuv422p16: .yuv422p
    case .yuv444p10, .yuv444p12, .yuv444p16: .yuv444p
    default: self
    }
  }

  /// What `.image` becomes for a source of this format: planar YUV or grey, in 16-bit words for deep
  /// formats. `nil` for Bayer mosaics and for JPEG, whose subsampling its own header gives.
  public var imageFormat: PixelFormat? {
    switch self {
    case .mjpeg, .bayerRGGB, .bayerGRBG, .bayerGBRG, .bayerBGGR: nil
    case .yuyv, .uyvy: .yuv422p
    case .nv12, .nv21, .yv12: .i420
    case .rgb24, .bgr24, .bgr32, .rgb32: .yuv444p
    default: self
    }
  }

  public var planeCount: Int {
    switch self {
    case .i420, .yv12, .yuv422p, .yuv444p, .yuv440p, .yuv411p: 3
    case .nv12, .nv21: 2
    default: isDeep && reduced != .grey ? 3 : 1
    }
  }

  /// Size of one plane of a `width` by `height` frame: bytes per row without padding, and rows.
  /// An encoded frame has no rows to speak of: zero.
  public func plane(_ index: Int, width: Int, height: Int) -> (bytesPerRow: Int, rows: Int) {
    contract(
      index >= 0 && index < planeCount,
      "asks for the size of plane \(index) of \(fourcc); its planes are 0 to \(planeCount - 1)")
    let halfWidth = (width + 1) / 2
    let halfHeight = (height + 1) / 2
    if isDeep {
      let half = reduced.plane(index, width: width, height: height)
      return (half.bytesPerRow * 2, half.rows)
    }
    switch self {
    case .mjpeg: return (0, 0)
    case .yuyv, .uyvy: return (halfWidth * 4, height)
    case .rgb24, .bgr24: return (width * 3, height)
    case .bgr32, .rgb32: return (width * 4, height)
    case .nv12, .nv21: return index == 0 ? (width, height) : (halfWidth * 2, halfHeight)
    case .i420, .yv12: return index == 0 ? (width, height) : (halfWidth, halfHeight)
    case .yuv422p: return index == 0 ? (width, height) : (halfWidth, height)
    case .yuv440p: return index == 0 ? (width, height) : (width, halfHeight)
    case .yuv411p: return index == 0 ? (width, height) : ((width + 3) / 4, height)
    default: return (width, height)
    }
  }

  /// Bytes of an unpadded `width` by `height` frame; 0 for an encoded one.
  public func byteCount(width: Int, height: Int) -> Int {
    (0..<planeCount).reduce(0) { sum, index in
      let size = plane(index, width: width, height: height)
      return sum + size.bytesPerRow * size.rows
    }
  }
}
