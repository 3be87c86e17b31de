// What follows from a format's layout.

extension PixelFormat {
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
    case .encoded: true
    case .planar, .semiPlanar420, .semiPlanar420Words, .packedGray, .packed422, .rgb, .rgbWords,
      .bayer:
      false
    }
  }

  /// True for H.264 and HEVC, whose frames refer to each other.
  public var isPackets: Bool { self == .h264 || self == .hevc }

  /// True for a sensor mosaic, of which the engine makes neither luma nor image.
  public var isBayer: Bool {
    switch layout {
    case .bayer: true
    case .encoded, .planar, .semiPlanar420, .semiPlanar420Words, .packedGray, .packed422, .rgb,
      .rgbWords:
      false
    }
  }

  /// Formats that a stage may be handed as `.image`: planar, luma in plane 0.
  public var isPlanar: Bool { subsampling != nil }

  /// Chroma subsampling of a planar format; `nil` for all others.
  public var subsampling: ChromaSubsampling? {
    switch layout {
    case .planar(let subsampling, _, _): subsampling
    case .encoded, .semiPlanar420, .semiPlanar420Words, .packedGray, .packed422, .rgb, .rgbWords,
      .bayer:
      nil
    }
  }

  /// True for a planar format without chroma.
  public var isGrey: Bool { subsampling == .gray }

  /// Byte order of an RGB format of 8 bits; `nil` for all others.
  public var rgbOrder: RGBOrder? {
    switch layout {
    case .rgb(let order): order
    case .encoded, .planar, .semiPlanar420, .semiPlanar420Words, .packedGray, .packed422, .rgbWords,
      .bayer:
      nil
    }
  }

  /// True for red, green and blue, which are of full range.
  public var isRGB: Bool {
    if case .rgbWords = layout { true } else { rgbOrder != nil }
  }

  /// True if pixels have alpha, which only what is taken as it is has: `rgba`, and dumps.
  public var hasAlpha: Bool {
    if case .rgbWords(let words) = layout { words == .rgba } else { rgbOrder?.hasAlpha ?? false }
  }

  /// Significant bits of a sample; 8 for an encoded frame. In words they are the low ones, but for P010 and
  /// P012.
  public var bitsPerSample: Int {
    switch layout {
    case .planar(_, let depth, _): depth.rawValue
    case .semiPlanar420Words(let depth): depth.rawValue
    case .bayer(_, let samples), .packedGray(let samples): samples.depth.rawValue
    case .rgbWords: 16
    case .encoded, .semiPlanar420, .packed422, .rgb: 8
    }
  }

  /// True if samples are 16-bit little-endian words.
  public var isDeep: Bool {
    switch layout {
    case .planar(_, let depth, _): depth != .eight
    case .bayer(_, let samples): samples.areWords
    case .semiPlanar420Words, .rgbWords: true
    case .encoded, .semiPlanar420, .packedGray, .packed422, .rgb: false
    }
  }

  /// The format with the same planes and 8 bits per sample.
  public var reduced: PixelFormat {
    guard isDeep, let subsampling else { return self }
    return PixelFormat(subsampling)
  }

  /// Format of `.image` for a source of this format: planar YUV or grey, in 16-bit words for more than 8
  /// bits. `nil` for Bayer mosaics, and for JPEG, where each image's header has the subsampling.
  public var imageFormat: PixelFormat? {
    switch layout {
    case .encoded, .bayer: nil
    case .planar(_, _, .blueFirst): self
    case .planar(let subsampling, _, .redFirst): PixelFormat(subsampling)
    case .semiPlanar420: .i420
    case .semiPlanar420Words(let depth): depth == .ten ? .yuv420p10 : .yuv420p12
    case .packedGray(let samples): samples == .packedTen ? .y10 : .y12
    case .packed422: .yuv422p
    case .rgb: .yuv444p
    case .rgbWords: .yuv444p16
    }
  }

  public var planeCount: Int {
    switch layout {
    case .planar(let subsampling, _, _): subsampling.planeCount
    case .semiPlanar420, .semiPlanar420Words: 2
    case .encoded, .packedGray, .packed422, .rgb, .rgbWords, .bayer: 1
    }
  }

  /// Size of an existing plane: bytes per row without padding, and rows; zero for an encoded frame.
  package func planeSize(_ index: Int, width: Int, height: Int) -> (bytesPerRow: Int, rows: Int) {
    switch layout {
    case .encoded: return (0, 0)
    case .planar(let subsampling, let depth, _):
      let bytes = depth == .eight ? 1 : 2
      if index == 0 { return (bytes * width, height) }
      return (
        bytes * subsampling.planeWidth(index, imageWidth: width),
        subsampling.planeHeight(index, imageHeight: height)
      )
    case .semiPlanar420:
      return index == 0 ? (width, height) : ((width + 1) / 2 * 2, (height + 1) / 2)
    case .semiPlanar420Words:
      return index == 0 ? (2 * width, height) : ((width + 1) / 2 * 4, (height + 1) / 2)
    case .packedGray(let samples): return (samples.bytesPerRow(width: width), height)
    case .packed422: return ((width + 1) / 2 * 4, height)
    case .rgb(let order): return (width * order.bytesPerPixel, height)
    case .rgbWords(let words): return (2 * width * words.perPixel, height)
    case .bayer(_, let samples): return (samples.bytesPerRow(width: width), height)
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
