internal import SprocketCore
internal import SprocketV4L2

// Formats and colour as V4L2 has them, in Sprocket's words. Pure.

extension PixelFormat {
  /// The format that the driver's code stands for; `nil` for those that Sprocket does not know.
  ///
  /// Source: the kernel's "Image Formats" chapter. Alpha of a camera is taken for padding.
  init?(_ code: V4L2FourCC) {
    let other: PixelFormat? =
      switch code.text {
      case "JPEG": .mjpeg
      case "XR24", "AR24": .bgr32
      case "BX24", "BA24": .rgb32
      // With each plane in memory of its own.
      case "NM12": .nv12
      case "NM21": .nv21
      case "YM12": .i420
      case "YM21": .yv12
      case "YM16": .yuv422p
      case "YM24": .yuv444p
      default: nil
      }
    // Formats that V4L2 has no code for have longer names.
    let found = Self.allCases.first { $0.fourcc.utf8.count == 4 && V4L2FourCC($0.fourcc) == code }
    guard let format = other ?? found else { return nil }
    self = format
  }
}

extension V4L2Field {
  var isInterlaced: Bool {
    self == .interlaced || self == .interlacedTopFirst || self == .interlacedBottomFirst
  }

  /// Why frames like that cannot be taken; `nil` where they can.
  var refusal: String? {
    switch self {
    case .progressive, .interlaced, .interlacedTopFirst, .interlacedBottomFirst: nil
    case .single:
      "as single fields, half of a frame each, which Sprocket does not join; choose another size"
    case .sequential:
      "with its two fields one behind the other, which Sprocket does not join; choose another size"
    }
  }
}

extension Presentation {
  /// What the driver says of pictures of that height. A driver that says "progressive" may mean that
  /// it does not know.
  init(_ field: V4L2Field, height: Int, aspect: (width: UInt32, height: UInt32)?) {
    let order: FieldOrder =
      switch field {
      case .interlacedTopFirst: .topFirst
      case .interlacedBottomFirst: .bottomFirst
      // M/NTSC, which has 480 lines (with some cards 486), begins with the bottom field, all other
      // standards with the top (the kernel's "Field Order", V4L2_FIELD_INTERLACED).
      case .interlaced: height == 480 || height == 486 ? .bottomFirst : .topFirst
      case .progressive, .single, .sequential: .unknown
      }
    let known = aspect.flatMap { aspect in
      Int32(exactly: aspect.width).flatMap { width in
        Int32(exactly: aspect.height).map { PixelAspect(width, $0) }
      }
    }
    self.init(pixelAspect: known ?? .unknown, fieldOrder: order)
  }
}

extension Color {
  /// What the driver says of frames in `format`, and V4L2's defaults where it says nothing
  /// (`V4L2_MAP_XFER_FUNC_DEFAULT`, `V4L2_MAP_YCBCR_ENC_DEFAULT`, `V4L2_MAP_QUANTIZATION_DEFAULT` of
  /// `linux/videodev2.h`): YUV is limited range but for JPEG's colour space, all else is full range.
  ///
  /// Motion-JPEG is JFIF, whatever is said. Encoders make RGB to YUV by BT.601 here, so that is what
  /// RGB says; limited RGB has no word here and counts as full.
  init(_ format: V4L2Format, _ pixels: PixelFormat) {
    let transfer = Transfer(transfer: format.transfer, colorspace: format.colorspace)
    guard !pixels.isEncoded else {
      self.init(range: .full, matrix: .bt601, transfer: transfer)
      return
    }
    let isRGB = pixels.isRGB
    let isYUV = !(isRGB || pixels.isGrey || pixels.isBayer)
    let range: Range =
      switch format.quantization {
      case 1: .full
      case 2: isRGB ? .full : .limited
      // 7 is V4L2_COLORSPACE_JPEG.
      default: isYUV && format.colorspace != 7 ? .limited : .full
      }
    let matrix: Matrix =
      isRGB
      ? .bt601
      : isYUV ? Matrix(encoding: format.encoding, colorspace: format.colorspace) : .unspecified
    self.init(range: range, matrix: matrix, transfer: transfer, chromaSite: .left)
  }
}

extension Color.Matrix {
  /// From `V4L2_YCBCR_ENC_*` or, by default, `V4L2_COLORSPACE_*`.
  fileprivate init(encoding: UInt32, colorspace: UInt32) {
    self =
      switch encoding {
      case 1, 3: .bt601
      case 2, 4: .bt709
      case 6: .bt2020
      case 0:
        switch colorspace {
        // REC709 and DCI_P3; BT2020; SMPTE240M has a matrix of its own.
        case 3, 12: .bt709
        case 10: .bt2020
        case 2: .unspecified
        default: .bt601
        }
      default: .unspecified
      }
  }
}

extension Color.Transfer {
  /// From `V4L2_XFER_FUNC_*` or, by default, `V4L2_COLORSPACE_*`.
  fileprivate init(transfer: UInt32, colorspace: UInt32) {
    self =
      switch transfer {
      case 1: .bt709
      case 2: .srgb
      case 5: .linear
      case 7: .pq
      case 0:
        switch colorspace {
        // SRGB and JPEG; RAW; all that V4L2 gives the transfer of BT.709. A driver that says nothing,
        // and SMPTE240M, OPRGB and DCI_P3, which have no word here, stay unspecified.
        case 7, 8: .srgb
        case 11: .linear
        case 1, 3, 4, 5, 6, 10: .bt709
        default: .unspecified
        }
      default: .unspecified
      }
  }
}

/// Where the planes of a raw frame lie in the driver's buffer.
struct CameraLayout: Hashable, Sendable {
  struct Place: Hashable, Sendable {
    /// Which piece of the buffer's memory, and where in it.
    var piece = 0
    var offset = 0
    var stride = 0
    var bytesPerRow = 0
    var rows = 0
    var end: Int { offset + stride * (rows - 1) + bytesPerRow }
  }

  let planes: [Place]
  /// Bytes that a whole frame has in each piece of memory, without the padding behind its last row.
  let byteCounts: [Int]

  /// Planes follow each other; the chroma of planar formats has a fraction of the first plane's stride,
  /// as the kernel's "Image Formats" chapter has it.
  init(_ pixels: PixelFormat, width: Int, height: Int, bytesPerLine: Int) {
    var planes: [Place] = []
    var offset = 0
    let luma = pixels.plane(0, width: width, height: height)
    let stride = max(bytesPerLine, luma.bytesPerRow)
    for index in 0..<pixels.planeCount {
      let size = pixels.plane(index, width: width, height: height)
      let padded =
        index == 0
        ? stride : max(size.bytesPerRow, stride / (pixels.subsampling?.horizontalFactor ?? 1))
      planes.append(
        Place(offset: offset, stride: padded, bytesPerRow: size.bytesPerRow, rows: size.rows))
      offset += padded * size.rows
    }
    self.planes = planes
    byteCounts = planes.last.map { [$0.end] } ?? []
  }

  /// Each plane in memory of its own, with these bytes from row to row.
  init(_ pixels: PixelFormat, width: Int, height: Int, bytesPerLine: [Int]) {
    planes = bytesPerLine.prefix(pixels.planeCount).enumerated().map { index, stride in
      let size = pixels.plane(index, width: width, height: height)
      return Place(
        piece: index, stride: max(stride, size.bytesPerRow), bytesPerRow: size.bytesPerRow,
        rows: size.rows)
    }
    byteCounts = planes.map(\.end)
  }
}
