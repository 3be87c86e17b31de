import SprocketCore

/// The two passes over 16-bit samples, one by one: such pictures are rare, and small.
struct WordWarp {
  /// By phase, and one more: between phases they are interpolated. The last two are 0.
  private let weights: [SIMD8<Float>]
  /// A row of the source, and `margin` samples beyond it at each side.
  private var line: [Float]
  /// What the first pass made of the source's rows, and of `margin` beyond it at each side.
  private var moved: [Float]

  /// Samples beyond each edge, of the edge's level: more than the kernel's 6 reach.
  private static let margin = 8

  init(width: Int, height: Int) {
    line = Array(repeating: 0, count: width + 2 * Self.margin)
    moved = Array(repeating: 0, count: width * (height + 2 * Self.margin))
    weights = (0...LanczosWeights.phases).map { phase in
      var values = SIMD8<Float>()
      for tap in 0..<LanczosWeights.taps {
        values[tap] = Float(LanczosWeights.weight(tap: tap, phase: phase))
      }
      return values
    }
  }

  /// Fills in one plane from the same of `picture.source`.
  mutating func warp(_ plane: Int, of picture: inout ImageEditor, _ geometry: PlaneGeometry) {
    let source = picture.source[plane: plane]
    let (width, height) = (source.bytesPerRow / 2, source.rows)
    for v in -Self.margin..<height + Self.margin {
      let row = source[row16: min(max(v, 0), height - 1)]
      for x in line.indices {
        line[x] = Float(row[min(max(x &- Self.margin, 0), width &- 1)])
      }
      let start = geometry.along.y * Double(v) + geometry.along.start
      for x in 0..<width {
        let place = Place(geometry.along.x * Double(x) + start, size: width)
        moved[(v &+ Self.margin) &* width &+ x] = alongRow(place)
      }
    }
    let white = Float((1 << picture.format.bitsPerSample) - 1)
    for y in 0..<height {
      var row = picture.row16(y, plane: plane)
      let start = geometry.down.y * Double(y) + geometry.down.start
      for x in 0..<width {
        let place = Place(geometry.down.x * Double(x) + start, size: height)
        row[x] = UInt16(min(max(downColumn(x, place, width), 0), white) + 0.5)
      }
    }
  }

  @inline(__always)
  private func alongRow(_ place: Place) -> Float {
    let samples = line.span.extracting(place.first &+ Self.margin..<place.first &+ Self.margin &+ 6)
    let weights = weights(place)
    return weights[0] * samples[0] + weights[1] * samples[1] + weights[2] * samples[2]
      + (weights[3] * samples[3] + weights[4] * samples[4] + weights[5] * samples[5])
  }

  @inline(__always)
  private func downColumn(_ x: Int, _ place: Place, _ width: Int) -> Float {
    let weights = weights(place)
    var index = (place.first &+ Self.margin) &* width &+ x
    var sum: Float = 0
    for tap in 0..<LanczosWeights.taps {
      sum += weights[tap] * moved[index]
      index &+= width
    }
    return sum
  }

  @inline(__always)
  private func weights(_ place: Place) -> SIMD8<Float> {
    let (these, next) = (weights[place.phase], weights[place.phase &+ 1])
    return these + place.rest * (next - these)
  }

  /// Where the samples of a position begin, and which weights they have.
  private struct Place {
    let first: Int
    let phase: Int
    /// From this phase to the next, 0 to 1.
    let rest: Float

    /// Positions far beyond the source are moved to where all taps lie beyond it, but the last.
    @inline(__always)
    init(_ position: Double, size: Int) {
      let reach = Double(LanczosWeights.taps / 2)
      let position = min(max(position, -reach), Double(size - 1) + reach)
      let whole = position.rounded(.down)
      first = Int(whole) &- LanczosWeights.before
      let fine = (position - whole) * Double(LanczosWeights.phases)
      phase = min(Int(fine), LanczosWeights.phases - 1)
      rest = Float(fine - Double(phase))
    }
  }
}
