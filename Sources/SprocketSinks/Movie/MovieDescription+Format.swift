internal import SprocketCodecs
internal import SprocketCore
internal import SprocketLibAV

extension MovieSink {
  func description(_ format: FrameFormat, isEncoded: Bool) -> MovieDescription {
    var format = format
    if let constantRate { format.rate = constantRate }
    if let turn { format.presentation.orientation = turn.value }
    // JPEG is full range; the camera's own bytes are what they are.
    var description = MovieDescription(
      format, isGray: !isEncoded && (needs?.isGray ?? (format.image == .grey)),
      range: needs == nil || isEncoded ? format.color.range : .full)
    if passesPackets {
      description.packets = format.packets.map { ($0.format, $0.parameterSets) }
      description.range = format.color.range == .full ? .full : .limited
    }
    description.hdr = sourceHDR
    return description
  }
}

extension MovieDescription {
  init(_ format: FrameFormat, isGray: Bool, range: Color.Range) {
    let rate = format.rate
    let isKnown = rate.frames > 0 && rate.seconds > 0
    self.init(
      width: format.width, height: format.height,
      rate: isKnown ? MediaRational(Int(rate.frames), Int(rate.seconds)) : nil,
      range: range == .full ? .full : .limited, matrix: .init(format.color.matrix, range),
      transfer: .init(format.color.transfer),
      codes: (
        format.color.codes.primaries, format.color.codes.transfer, format.color.codes.matrix
      ), isGray: isGray,
      display: MediaDisplay(format.presentation))
    switch format.image?.subsampling {
    case .yuv420, .yuv422:
      chromaSite =
        switch format.color.chromaSite {
        case .left: .left
        case .center: .center
        case .topLeft: .topLeft
        }
    // An encoder of 4:2:0 gets the means of four samples, which lie in their middle.
    case .yuv444: chromaSite = .center
    default: break
    }
  }
}

extension MediaDisplay {
  init(_ presentation: Presentation) {
    let aspect = presentation.pixelAspect
    let fieldOrder: FieldOrder =
      switch presentation.fieldOrder {
      case .unknown: .unknown
      case .progressive: .progressive
      case .topFirst: .topFirst
      case .bottomFirst: .bottomFirst
      }
    self.init(
      orientation: Int(presentation.orientation.rawValue),
      pixelAspect: aspect == .unknown ? nil : MediaRational(Int(aspect.width), Int(aspect.height)),
      fieldOrder: fieldOrder)
  }
}

extension MediaColor.Matrix {
  /// Full range without a known matrix is the JFIF standard's.
  init(_ matrix: Color.Matrix, _ range: Color.Range) {
    self =
      switch matrix {
      case .unspecified: range == .full ? .bt601 : .unspecified
      case .bt601: .bt601
      case .bt709: .bt709
      case .bt2020: .bt2020
      }
  }
}

extension MediaColor.Transfer {
  init(_ transfer: Color.Transfer) {
    self =
      switch transfer {
      case .unspecified: .unspecified
      case .srgb: .srgb
      case .bt709: .bt709
      case .linear: .linear
      case .gamma22: .gamma22
      case .gamma28: .gamma28
      case .pq: .pq
      case .hlg: .hlg
      }
  }
}
