/// What is summed over a cell of the grid, or over the whole of it. Exact.
struct FocusSums {
  /// The measure's responses, and their squares.
  var response: Int64 = 0
  var energy: UInt64 = 0
  /// Squares of the noise mask's responses.
  var noise: UInt64 = 0
  var levels: UInt64 = 0
  /// Squared differences of pixels `lag` apart, along rows and down columns.
  var along: UInt64 = 0
  var down: UInt64 = 0
  var counts = Counts()

  struct Counts {
    /// Pixels of rows that are sampled.
    var pixels = 0
    /// Pixels that have all their neighbours: responses.
    var inner = 0
    /// Pairs of pixels `lag` apart; their middles are in rows that are sampled.
    var along = 0
    var down = 0
  }

  /// Distance in pixels of the pairs whose difference is the contrast, which should not depend on focus:
  /// wider than most blur, narrower than most things. Larger: stronger blur does not lower the contrast, and
  /// fine texture does not raise it.
  static let lag = 12

  static func += (sums: inout FocusSums, other: FocusSums) {
    sums.response += other.response
    sums.energy += other.energy
    sums.noise += other.noise
    sums.levels += other.levels
    sums.along += other.along
    sums.down += other.down
    sums.counts.pixels += other.counts.pixels
    sums.counts.inner += other.counts.inner
    sums.counts.along += other.counts.along
    sums.counts.down += other.counts.down
  }
}

extension FocusSums {
  /// Mean luma, level 0 to 255.
  var mean: Double { Double(levels) / Double(counts.pixels) }

  /// Variance of the noise, in levels squared: the mask's coefficients squared add up to 36.
  ///
  /// J. Immerkær, "Fast noise variance estimation", Computer Vision and Image Understanding 64,
  /// 1996.
  var noiseVariance: Double { Double(noise) / (36 * Double(counts.inner)) }

  /// Half the mean squared difference of pixels `lag` apart, mean of both directions, in levels
  /// squared: the semivariance of G. Matheron, "Principles of geostatistics", Economic Geology 58,
  /// 1963. Noise adds its variance. Outer cells of less than 8 pixels, as in windows of less than
  /// 32, may hold no middle of such a pair in a direction, and then lack its part.
  var semivariance: Double {
    let along = Double(along) / Double(max(counts.along, 1))
    let down = Double(down) / Double(max(counts.down, 1))
    return (along + down) / 4
  }

  /// Mean square of the responses less the square of their mean, exact up to the division.
  var variance: Double {
    let count = Int128(counts.inner)
    let numerator = count * Int128(energy) - Int128(response) * Int128(response)
    return Double(numerator) / (Double(counts.inner) * Double(counts.inner))
  }

  /// Mean square of the responses.
  var meanEnergy: Double { Double(energy) / Double(counts.inner) }

  /// The energy of the finest detail, noise excepted, beside that of the brightness; the responses
  /// must be Laplacians.
  ///
  /// White noise of variance s adds 20 s to the square of a Laplacian and 36 s to that of the mask,
  /// so in energy / 20 - noise / 36 it cancels, up to chance. Both are sums, and subtracted exactly.
  /// Of noise that was compressed as JPEG the mask sees less than its share, and a part stays.
  ///
  /// Divided by an eighth of the brightness, which exposure scales as it does the detail, and eight
  /// levels, squared: in the dark, what compression leaves of the noise is not divided by next to
  /// nothing. Not by the contrast: that falls out of focus, and lifts there what is left of noise.
  var normalizedEnergy: Double {
    let excess = 9 * Int64(energy) - 5 * Int64(noise)
    let detail = Double(max(excess, 0)) / (180 * Double(counts.inner))
    return detail / (mean * mean / 64 + 64)
  }

  /// The contrast between pixels 12 apart, less noise and one level, beside the brightness: 0 to 1.
  var contrast: Double {
    let deviation = max(semivariance - noiseVariance - 1, 0).squareRoot()
    return deviation > 0 ? deviation / (deviation + mean) : 0
  }
}
