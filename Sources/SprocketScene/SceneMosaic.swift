internal import SprocketCore
internal import SprocketPixels

/// What a Bayer sensor sees of the drawn planes: one colour per pixel, in any depth and packing.
///
/// Colour is made by the formulas of ITU-T T.871 in 16-bit fixed point. Mosaics of more than 8 bits are made
/// of luma of 16 bits, which the renderer draws in steps of 1/64 of an 8-bit level, and of chroma of 8 bits;
/// the lowest bits are cut off.
struct SceneMosaic {
  /// A row's samples.
  private var row: [UInt16]
  private let order: BayerOrder
  private let samples: BayerSamples

  init(_ order: BayerOrder, _ samples: BayerSamples, width: Int) {
    self.order = order
    self.samples = samples
    row = [UInt16](repeating: 0, count: width)
  }

  /// Depth of the luma that it needs.
  static func lumaDepth(_ samples: BayerSamples) -> SampleDepth {
    samples == .eight ? .eight : .sixteen
  }

  /// Writes row `number` of the mosaic into `out`, which has just its bytes. `planes` are 4:4:4.
  mutating func write(
    _ planes: Span<UInt8>, _ layout: SceneLayout, row number: Int,
    into out: inout MutableSpan<UInt8>
  ) {
    let width = row.count
    let luma = planes.extracting(droppingFirst: layout.luma + number * layout.lumaStride)
    let blue = planes.extracting(droppingFirst: layout.u + number * layout.chromaStride)
    let red = planes.extracting(droppingFirst: layout.v + number * layout.chromaStride)
    let isDeep = samples != .eight
    let (even, odd) = order.channels(inRow: number)
    for x in 0..<width {
      let channel = x % 2 == 0 ? even : odd
      let color = Self.difference(channel, Int(blue[x]) - 128, Int(red[x]) - 128)
      if isDeep {
        let level = Int(luma[2 * x]) | Int(luma[2 * x + 1]) << 8
        let word = min(max((level << 16 + color * 257 + 32768) >> 16, 0), 65535)
        row[x] = UInt16(word >> (16 - samples.depth.rawValue))
      } else {
        row[x] = UInt16(min(max((Int(luma[x]) << 16 + color + 32768) >> 16, 0), 255))
      }
    }
    store(row.span, samples, into: &out)
  }

  /// By how much a channel differs from luma, in 1/65536 of an 8-bit level.
  private static func difference(_ channel: BayerChannel, _ cb: Int, _ cr: Int) -> Int {
    switch channel {
    case .red: cr * 91881
    case .green: cb * -22554 + cr * -46802
    case .blue: cb * 116130
    }
  }
}

private enum BayerChannel {
  case red, green, blue
}

extension BayerOrder {
  /// Channels of the even and odd columns of a row.
  fileprivate func channels(inRow row: Int) -> (even: BayerChannel, odd: BayerChannel) {
    let isEven = row % 2 == 0
    return switch self {
    case .rggb: isEven ? (.red, .green) : (.green, .blue)
    case .grbg: isEven ? (.green, .red) : (.blue, .green)
    case .gbrg: isEven ? (.green, .blue) : (.red, .green)
    case .bggr: isEven ? (.blue, .green) : (.green, .red)
    }
  }
}

/// Packs a row of samples. What is unused of the last group of packed pixels is 0.
private func store(
  _ row: Span<UInt16>, _ samples: BayerSamples, into out: inout MutableSpan<UInt8>
) {
  let width = row.count
  precondition(out.count == samples.bytesPerRow(width: width))
  func low(_ value: UInt16) -> UInt8 { UInt8(truncatingIfNeeded: value) }
  switch samples {
  case .eight:
    for x in 0..<width { out[x] = low(row[x]) }
  case .ten, .twelve, .sixteen:
    for x in 0..<width {
      out[2 * x] = low(row[x])
      out[2 * x + 1] = low(row[x] >> 8)
    }
  case .packedTen, .packedTwelve:
    let (pixels, bits) = samples == .packedTen ? (4, 2) : (2, 4)
    for group in 0..<out.count / (pixels + 1) {
      let start = group * (pixels + 1)
      var rest: UInt8 = 0
      for pixel in 0..<pixels {
        let x = group * pixels + pixel
        let value = x < width ? row[x] : 0
        out[start + pixel] = low(value >> UInt16(bits))
        rest |= (low(value) & UInt8(1 << bits - 1)) << UInt8(bits * pixel)
      }
      out[start + pixels] = rest
    }
  }
}
