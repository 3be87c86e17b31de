internal import SprocketCore
internal import SprocketPixels

/// From samples of YUV to the numbers of a tensor: a sum, then limits.
///
/// ITU-T H.273, equations 29 to 57: with Kr, Kb and Kg = 1 - Kr - Kb of the matrix, y from 0 to 255, and u
/// and v about 0,
///
///     R = y + 2 (1 - Kr) v
///     G = y - 2 Kb (1 - Kb) / Kg u - 2 Kr (1 - Kr) / Kg v
///     B = y + 2 (1 - Kb) u
struct TensorColor: Sendable {
  /// One channel: `luma Y + blue U + red V + offset`, within `least...most`.
  struct Channel: Sendable {
    var luma: Float
    var blue: Float
    var red: Float
    var offset: Float
    var least: Float
    var most: Float
    /// What `settings.pad` becomes.
    var pad: Float
  }

  /// In the order of the tensor's channels; one for gray.
  let channels: [Channel]

  init(_ settings: TensorSettings, _ format: FrameFormat) {
    let bits = format.image?.bitsPerSample ?? 8
    let isGrey = format.image?.isGrey ?? true
    // Samples of more bits, in levels from 0 to 255.
    let step = Double(1 << (bits - 8))
    let isFull = format.color.range == .full
    let lumaGain = isFull ? 255 / (256 * step - 1) : 255 / (219 * step)
    let lumaZero = isFull ? 0 : 16 * step
    let chromaGain = isGrey ? 0 : isFull ? 255 / (256 * step - 1) : 255 / (224 * step)
    let chromaZero = 128 * step
    let (red, blue) = Self.weights(settings.matrix, format.color.matrix)
    let green = 1 - red - blue
    let inRed = (u: 0.0, v: 2 * (1 - red))
    let inGreen = (u: -2 * blue * (1 - blue) / green, v: -2 * red * (1 - red) / green)
    let inBlue = (u: 2 * (1 - blue), v: 0.0)
    let parts: [(u: Double, v: Double)] =
      switch settings.usedChannels {
      case .rgb, .rgba: [inRed, inGreen, inBlue]
      case .bgr: [inBlue, inGreen, inRed]
      case .gray: [(0, 0)]
      }
    channels = parts.enumerated().map { index, part in
      let gain = settings.usedScale / settings.deviation.values[index]
      let shift = -settings.mean.values[index] / settings.deviation.values[index]
      // Whole numbers hold no more.
      let bounds: ClosedRange<Double> =
        switch settings.usedElement {
        case .u8: 0...255
        case .u16: 0...65_535
        case .f16, .f32, .bf16: -Double.infinity...Double.infinity
        }
      func bounded(_ number: Double) -> Float {
        Float(min(max(number, bounds.lowerBound), bounds.upperBound))
      }
      let ends = [shift, 255 * gain + shift]
      let chroma = (u: part.u * chromaGain, v: part.v * chromaGain)
      let zero = -lumaGain * lumaZero - (chroma.u + chroma.v) * chromaZero
      return Channel(
        luma: Float(lumaGain * gain), blue: Float(chroma.u * gain), red: Float(chroma.v * gain),
        offset: Float(zero * gain + shift), least: bounded(ends.min() ?? 0),
        most: bounded(ends.max() ?? 0), pad: bounded(settings.pad * gain + shift))
    }
  }

  /// Kr and Kb.
  static func weights(
    _ chosen: TensorSettings.Matrix, _ said: Color.Matrix
  ) -> (red: Double, blue: Double) {
    switch matrix(chosen, said) {
    case .unspecified, .bt601: (0.299, 0.114)
    case .bt709: (0.2126, 0.0722)
    case .bt2020: (0.2627, 0.0593)
    }
  }

  static func matrix(_ chosen: TensorSettings.Matrix, _ said: Color.Matrix) -> Color.Matrix {
    switch chosen {
    case .bt601: .bt601
    case .bt709: .bt709
    case .bt2020: .bt2020
    case .source: said == .unspecified ? .bt601 : said
    }
  }
}

/// Rows of the three planes, of one length, become a row of one channel.
func mix(
  _ y: [Float], _ u: [Float], _ v: [Float], hasChroma: Bool, _ channel: TensorColor.Channel,
  into row: inout MutableSpan<Float>
) {
  if hasChroma {
    mix(y.span, u.span, v.span, channel, into: &row)
  } else {
    mix(y.span, channel, into: &row)
  }
}

private func mix(
  _ y: Span<Float>, _ u: Span<Float>, _ v: Span<Float>, _ channel: TensorColor.Channel,
  into row: inout MutableSpan<Float>
) {
  let count = row.count
  precondition(y.count == count && u.count == count && v.count == count)
  for x in 0..<count {
    let sum = y[x] * channel.luma + u[x] * channel.blue + v[x] * channel.red + channel.offset
    row[x] = min(max(sum, channel.least), channel.most)
  }
}

private func mix(
  _ y: Span<Float>, _ channel: TensorColor.Channel, into row: inout MutableSpan<Float>
) {
  precondition(y.count == row.count)
  for x in 0..<row.count {
    row[x] = min(max(y[x] * channel.luma + channel.offset, channel.least), channel.most)
  }
}
