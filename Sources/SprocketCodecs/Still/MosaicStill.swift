internal import Glibc
internal import SprocketCore
internal import SprocketPixels
internal import SprocketTIFF

/// What a DNG says of a sensor's mosaic, the same for all frames of an epoch.
struct MosaicStill: Sendable {
  let width: Int
  let height: Int
  let order: BayerOrder
  let samples: BayerSamples
  let levels: MosaicLevels
  /// Linear light for each level, 0 to 65535; empty where levels are linear.
  let curve: [UInt16]

  /// 8 or 16 in the file.
  var bits: Int { samples == .eight ? 8 : 16 }
  var byteCount: Int { width * height * bits / 8 }
  private var mostLevel: Int { 1 << samples.depth.rawValue - 1 }
  var whiteLevel: Int { curve.isEmpty ? mostLevel : 65_535 }
  var blackLevel: Int {
    let level = Int((levels.black * Double(mostLevel)).rounded())
    return curve.isEmpty ? level : Int(curve[min(level, mostLevel)])
  }
  /// Both sides are divided by it for the preview: even, since colours repeat every two pixels.
  var divisor: Int { max(2, StillThumbnail.divisor(width: width, height: height)) }
  var preview: (width: Int, height: Int) { (max(1, width / divisor), max(1, height / divisor)) }
  var previewBytes: Int { 3 * preview.width * preview.height }

  /// Throws where frames are no mosaics.
  init(_ format: FrameFormat, _ levels: MosaicLevels) throws(RunError) {
    guard case .bayer(let order, let samples) = format.pixelFormat.layout else {
      throw RunError(
        .usage,
        "DNG holds a Bayer sensor's mosaics, and \(format.pixelFormat.settingText) frames are none; name the "
          + "stills .tif or .png, or choose a format of the sensor's", change: .format)
    }
    (width, height, self.order, self.samples) = (format.width, format.height, order, samples)
    self.levels = levels
    let most = 1 << samples.depth.rawValue - 1
    let transfer = format.color.transfer
    // A sensor whose driver says nothing has no curve.
    let isLinear = transfer == .linear || transfer == .unspecified
    curve =
      isLinear
      ? []
      : (0...most).map {
        UInt16((transfer.luminance(ofSignal: Double($0) / Double(most)) * 65_535).rounded())
      }
  }

  /// 0 to 2, red to blue, of the pixel at a column and row.
  func color(_ x: Int, _ y: Int) -> Int {
    let colors: (UInt8, UInt8, UInt8, UInt8) = pattern
    return switch (y & 1, x & 1) {
    case (0, 0): Int(colors.0)
    case (0, _): Int(colors.1)
    case (_, 0): Int(colors.2)
    default: Int(colors.3)
    }
  }

  var pattern: (UInt8, UInt8, UInt8, UInt8) {
    switch order {
    case .rggb: (0, 1, 1, 2)
    case .grbg: (1, 0, 2, 1)
    case .gbrg: (1, 2, 0, 1)
    case .bggr: (2, 1, 1, 0)
    }
  }

  /// The sample at a column of a row as the source delivered it.
  @inline(__always)
  func sample(_ row: Span<UInt8>, _ x: Int) -> UInt16 {
    switch samples {
    case .eight: return UInt16(row[x])
    case .ten, .twelve, .sixteen: return UInt16(row[2 * x]) | UInt16(row[2 * x + 1]) << 8
    case .packedTen:
      let group = x / 4 * 5
      return UInt16(row[group + x % 4]) << 2 | UInt16(row[group + 4]) >> UInt16(x % 4 * 2) & 3
    case .packedTwelve:
      let group = x / 2 * 3
      return UInt16(row[group + x % 2]) << 4 | UInt16(row[group + 2]) >> UInt16(x % 2 * 4) & 15
    }
  }

  /// Level of a preview, 0 to 255, for a mean of samples of a colour.
  func previewLevel(_ mean: Double, _ color: Int) -> UInt8 {
    let most = Double(mostLevel)
    let factor = color == 0 ? levels.red : color == 2 ? levels.blue : 1
    let signal: Double
    if curve.isEmpty {
      let light = (mean / most - levels.black) / max(1 - levels.black, 1e-6) * factor
      // sRGB's curve, so that the preview looks as other pictures do.
      signal = light <= 0.003_130_8 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055
    } else {
      signal = mean / most * factor
    }
    return UInt8((min(max(signal, 0), 1) * 255).rounded())
  }
}
