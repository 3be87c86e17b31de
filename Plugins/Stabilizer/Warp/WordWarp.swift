import SprocketCore

/// The two passes over 16-bit samples, one by one: such pictures are rare, and small.
struct WordWarp {
  /// By phase, and one more: between phases they are interpolated.
  private let weights: [Float]
  /// What the first pass made of the source's rows, and of `margin` beyond it at each side.
  private var moved: [Float]

  private static let margin = LanczosWeights.taps

  init(width: Int, height: Int) {
    moved = Array(repeating: 0, count: width * (height + 2 * Self.margin))
    weights = (0...LanczosWeights.phases).flatMap { phase in
      (0..<LanczosWeights.taps).map { Float(LanczosWeights.weight(tap: $0, phase: phase)) }
    }
  }

  /// Fills in one plane from the same of `picture.source`.
  mutating func warp(_ plane: Int, of picture: inout ImageEditor, _ geometry: PlaneGeometry) {
    let source = picture.source[plane: plane]
    let (width, height) = (source.bytesPerRow / 2, source.rows)
    let (along, down) = (geometry.along, geometry.down)
    for v in -Self.margin..<height + Self.margin {
      let row = source[row16: min(max(v, 0), height - 1)]
      for x in 0..<width {
        let place = Place(along.x * Double(x) + along.y * Double(v) + along.start, size: width)
        var sum: Float = 0
        for tap in 0..<LanczosWeights.taps {
          let sample = min(max(place.first + tap, 0), width - 1)
          sum += weight(place, tap) * Float(row[sample])
        }
        moved[(v + Self.margin) * width + x] = sum
      }
    }
    let white: Float = picture.format == .y10 ? 1023 : 65535
    for y in 0..<height {
      var row = picture.row16(y, plane: plane)
      for x in 0..<width {
        let place = Place(down.x * Double(x) + down.y * Double(y) + down.start, size: height)
        var sum: Float = 0
        for tap in 0..<LanczosWeights.taps {
          let sample = place.first + tap + Self.margin
          sum += weight(place, tap) * moved[sample * width + x]
        }
        row[x] = UInt16(min(max(sum, 0), white).rounded())
      }
    }
  }

  @inline(__always)
  private func weight(_ place: Place, _ tap: Int) -> Float {
    let index = place.phase * LanczosWeights.taps + tap
    let next = weights[index + LanczosWeights.taps]
    return weights[index] + place.rest * (next - weights[index])
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
      first = Int(whole) - LanczosWeights.before
      let fine = (position - whole) * Double(LanczosWeights.phases)
      phase = min(Int(fine), LanczosWeights.phases - 1)
      rest = Float(fine - Double(phase))
    }
  }
}
