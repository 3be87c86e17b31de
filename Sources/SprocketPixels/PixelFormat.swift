/// Byte layout of a frame. Names and byte orders are V4L2's; planar YUV of more than 8 bits has FFmpeg's
/// names, because V4L2 has none.
///
/// Source: the kernel's "Image Formats" chapter (`V4L2_PIX_FMT_*`).
public enum PixelFormat: UInt8, Sendable, Hashable, CaseIterable, BitwiseCopyable {
  /// One JPEG image per frame.
  case mjpeg
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
  /// 8-bit Bayer mosaics; stages get no pixels of them.
  case bayerRGGB, bayerGRBG, bayerGBRG, bayerBGGR
  /// Planar 4:2:0, 4:2:2 and 4:4:4 of 10, 12 and 16 bits in 16-bit little-endian words.
  case yuv420p10, yuv422p10, yuv444p10
  case yuv420p12, yuv422p12, yuv444p12
  case yuv420p16, yuv422p16, yuv444p16

  /// V4L2's four-character code, or FFmpeg's name in capitals if V4L2 has none.
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

  /// The format with that four-character code or common name (`I420`, `MJPEG`, `RGB24`), in any case.
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

  /// Where the samples are in memory. Code that depends on this switches over the layout and not over
  /// formats.
  public var layout: PixelLayout {
    switch self {
    case .mjpeg: .jpeg
    case .yuyv: .packed422(.yuyv)
    case .uyvy: .packed422(.uyvy)
    case .nv12: .semiPlanar420(.blueFirst)
    case .nv21: .semiPlanar420(.redFirst)
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
    case .bayerRGGB: .bayer(.rggb)
    case .bayerGRBG: .bayer(.grbg)
    case .bayerGBRG: .bayer(.gbrg)
    case .bayerBGGR: .bayer(.bggr)
    case .yuv420p10: .planar(.yuv420, .ten, .blueFirst)
    case .yuv422p10: .planar(.yuv422, .ten, .blueFirst)
    case .yuv444p10: .planar(.yuv444, .ten, .blueFirst)
    case .yuv420p12: .planar(.yuv420, .twelve, .blueFirst)
    case .yuv422p12: .planar(.yuv422, .twelve, .blueFirst)
    case .yuv444p12: .planar(.yuv444, .twelve, .blueFirst)
    case .yuv420p16: .planar(.yuv420, .sixteen, .blueFirst)
    case .yuv422p16: .planar(.yuv422, .sixteen, .blueFirst)
    case .yuv444p16: .planar(.yuv444, .sixteen, .blueFirst)
    }
  }

  /// The planar YUV or grey format with 8 bits and this subsampling.
  public init(_ subsampling: ChromaSubsampling) {
    self =
      switch subsampling {
      case .yuv420: .i420
      case .yuv422: .yuv422p
      case .yuv444: .yuv444p
      case .yuv440: .yuv440p
      case .yuv411: .yuv411p
      case .gray: .grey
      }
  }

  public var isEncoded: Bool {
    switch layout {
    case .jpeg: true
    case .planar, .semiPlanar420, .packed422, .rgb, .bayer: false
    }
  }

  /// True for a sensor mosaic, from which neither luma nor image is made.
  public var isBayer: Bool {
    switch layout {
    case .bayer: true
    case .jpeg, .planar, .semiPlanar420, .packed422, .rgb: false
    }
  }

  /// Formats that a stage may be handed as `.image`: planar, luma in plane 0.
  public var isPlanar: Bool { subsampling != nil }

  /// Chroma subsampling of a planar format; `nil` for all others.
  public var subsampling: ChromaSubsampling? {
    switch layout {
    case .planar(let subsampling, _, _): subsampling
    case .jpeg, .semiPlanar420, .packed422, .rgb, .bayer: nil
    }
  }

  /// True for a planar format without chroma.
  public var isGrey: Bool { subsampling == .gray }

  /// Byte order of an RGB format; `nil` for all others.
  public var rgbOrder: RGBOrder? {
    switch layout {
    case .rgb(let order): order
    case .jpeg, .planar, .semiPlanar420, .packed422, .bayer: nil
    }
  }

  /// Significant bits of a sample, in its low bits; 8 for an encoded frame.
  public var bitsPerSample: Int {
    switch layout {
    case .planar(_, let depth, _): depth.rawValue
    case .jpeg, .semiPlanar420, .packed422, .rgb, .bayer: 8
    }
  }

  /// True if samples are 16-bit little-endian words.
  public var isDeep: Bool { bitsPerSample > 8 }

  /// The format with the same planes and 8 bits per sample.
  public var reduced: PixelFormat {
    guard isDeep, let subsampling else { return self }
    return PixelFormat(subsampling)
  }

  /// Format of `.image` for a source of this format: planar YUV or grey, in 16-bit words for more than 8
  /// bits. `nil` for Bayer mosaics, and for JPEG, where each image's header has the subsampling.
  public var imageFormat: PixelFormat? {
    switch layout {
    case .jpeg, .bayer: nil
    case .planar(_, _, .blueFirst): self
    case .planar(let subsampling, _, .redFirst): PixelFormat(subsampling)
    case .semiPlanar420: .i420
    case .packed422: .yuv422p
    case .rgb: .yuv444p
    }
  }

  public var planeCount: Int {
    switch layout {
    case .planar(let subsampling, _, _): subsampling.planeCount
    case .semiPlanar420: 2
    case .jpeg, .packed422, .rgb, .bayer: 1
    }
  }

  /// Size of an existing plane: bytes per row without padding, and rows; zero for an encoded frame.
  package func planeSize(_ index: Int, width: Int, height: Int) -> (bytesPerRow: Int, rows: Int) {
    switch layout {
    case .jpeg: return (0, 0)
    case .planar(let subsampling, let depth, _):
      let bytes = depth == .eight ? 1 : 2
      if index == 0 { return (bytes * width, height) }
      return (
        bytes * subsampling.planeWidth(index, imageWidth: width),
        subsampling.planeHeight(index, imageHeight: height)
      )
    case .semiPlanar420:
      return index == 0 ? (width, height) : ((width + 1) / 2 * 2, (height + 1) / 2)
    case .packed422: return ((width + 1) / 2 * 4, height)
    case .rgb(let order): return (width * order.bytesPerPixel, height)
    case .bayer: return (width, height)
    }
  }

  /// Bytes of an unpadded `width` by `height` frame; 0 for an encoded one.
  public func byteCount(width: Int, height: Int) -> Int {
    (0..<planeCount).reduce(0) { sum, index in
      let size = planeSize(index, width: width, height: height)
      return sum + size.bytesPerRow * size.rows
    }
  }
}
