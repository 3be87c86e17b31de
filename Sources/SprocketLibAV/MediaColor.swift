internal import CSprocketLibAV

/// What a file says about the meaning of its samples; often it says nothing.
public struct MediaColor: Equatable, Sendable {
  public enum Range: Sendable { case unspecified, limited, full }
  /// How RGB became YUV (ITU-T H.273, table 4).
  public enum Matrix: Sendable { case unspecified, rgb, bt601, bt709, bt2020, other }
  /// How light became numbers (ITU-T H.273, table 3).
  public enum Transfer: Sendable {
    case unspecified, bt709, srgb, linear, gamma22, gamma28, pq, hlg, other
  }
  /// Where chroma lies among luma (ITU-T H.273, figure 1).
  public enum ChromaSite: Sendable { case unspecified, left, center, topLeft, other }

  public var range: Range
  public var matrix: Matrix
  public var transfer: Transfer
  /// Code points of ITU-T H.273 (tables 2 to 4), which are the library's numbers; 2 means unspecified.
  public var codes: (primaries: UInt8, transfer: UInt8, matrix: UInt8)
  public var chromaSite: ChromaSite

  /// From the library's numbers. Formats with a J in their name are full range, whatever else is said,
  /// and so is RGB about which nothing is said.
  init(
    range: AVColorRange, matrix: AVColorSpace, transfer: AVColorTransferCharacteristic,
    primaries: AVColorPrimaries, chromaSite: AVChromaLocation, format: AVPixelFormat
  ) {
    self.chromaSite =
      switch chromaSite {
      case AVCHROMA_LOC_UNSPECIFIED: .unspecified
      case AVCHROMA_LOC_LEFT: .left
      case AVCHROMA_LOC_CENTER: .center
      case AVCHROMA_LOC_TOPLEFT: .topLeft
      default: .other
      }
    self.range =
      switch (range, format) {
      case (_, AV_PIX_FMT_YUVJ420P), (_, AV_PIX_FMT_YUVJ422P), (_, AV_PIX_FMT_YUVJ444P),
        (_, AV_PIX_FMT_YUVJ440P), (_, AV_PIX_FMT_YUVJ411P):
        .full
      case (AVCOL_RANGE_MPEG, _): .limited
      case (AVCOL_RANGE_JPEG, _): .full
      default: .unspecified
      }
    self.matrix = Matrix(matrix)
    self.transfer = Transfer(transfer)
    func code(_ number: UInt32) -> UInt8 {
      UInt8(exactly: number).flatMap { $0 == 0 ? nil : $0 } ?? 2
    }
    codes = (
      code(primaries.rawValue), code(transfer.rawValue),
      // 0 is a matrix: RGB itself.
      matrix == AVCOL_SPC_RGB ? 0 : code(matrix.rawValue)
    )
  }

  public static func == (one: MediaColor, other: MediaColor) -> Bool {
    one.range == other.range && one.matrix == other.matrix && one.transfer == other.transfer
      && one.chromaSite == other.chromaSite && one.codes == other.codes
  }
}

extension MediaColor.Matrix {
  init(_ matrix: AVColorSpace) {
    self =
      switch matrix {
      case AVCOL_SPC_RGB: .rgb
      case AVCOL_SPC_BT709: .bt709
      case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M: .bt601
      case AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: .bt2020
      case AVCOL_SPC_UNSPECIFIED, AVCOL_SPC_RESERVED: .unspecified
      default: .other
      }
  }

  /// The library's number for it; `code` where that means the same.
  func number(_ code: UInt8) -> AVColorSpace {
    let said = AVColorSpace(UInt32(code))
    if Self(said) == self, self != .unspecified { return said }
    return switch self {
    case .bt601: AVCOL_SPC_BT470BG  // As libavcodec's own Motion-JPEG has it.
    case .bt709: AVCOL_SPC_BT709
    case .bt2020: AVCOL_SPC_BT2020_NCL
    default: AVCOL_SPC_UNSPECIFIED
    }
  }
}

extension MediaColor.Transfer {
  init(_ transfer: AVColorTransferCharacteristic) {
    self =
      switch transfer {
      case AVCOL_TRC_BT709, AVCOL_TRC_SMPTE170M, AVCOL_TRC_BT2020_10, AVCOL_TRC_BT2020_12: .bt709
      case AVCOL_TRC_IEC61966_2_1: .srgb
      case AVCOL_TRC_LINEAR: .linear
      case AVCOL_TRC_GAMMA22: .gamma22
      case AVCOL_TRC_GAMMA28: .gamma28
      case AVCOL_TRC_SMPTE2084: .pq
      case AVCOL_TRC_ARIB_STD_B67: .hlg
      case AVCOL_TRC_UNSPECIFIED, AVCOL_TRC_RESERVED, AVCOL_TRC_RESERVED0: .unspecified
      default: .other
      }
  }

  /// The library's number for it; `code` where that means the same, or is one that no other word is for.
  func number(_ code: UInt8) -> AVColorTransferCharacteristic {
    let said = AVColorTransferCharacteristic(UInt32(code))
    let meaning = Self(said)
    if meaning == self && self != .unspecified || meaning == .other && self == .unspecified {
      return said
    }
    return switch self {
    case .bt709: AVCOL_TRC_BT709
    case .srgb: AVCOL_TRC_IEC61966_2_1
    case .linear: AVCOL_TRC_LINEAR
    case .gamma22: AVCOL_TRC_GAMMA22
    case .gamma28: AVCOL_TRC_GAMMA28
    case .pq: AVCOL_TRC_SMPTE2084
    case .hlg: AVCOL_TRC_ARIB_STD_B67
    default: AVCOL_TRC_UNSPECIFIED
    }
  }
}
