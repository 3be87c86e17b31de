import Glibc
internal import SprocketCore

/// A Gaussian blur of a plane that repeats in x and is mirrored in y.
struct SceneBlur {
  /// Weights of one side, from the middle outwards, summing (both sides) to 1.
  private let weights: [Float]
  /// Whether bytes are square roots of light: blur happens in light, as in a lens.
  private let isSquared: Bool
  private let interruption: SourceInterrupt

  init(sigma: Double, isSquared: Bool, _ interruption: SourceInterrupt = SourceInterrupt()) {
    let radius = max(1, Int((sigma * 3.2).rounded(.up)))
    var weights = (0...radius).map { exp(-Double($0 * $0) / (2 * sigma * sigma)) }
    let sum = weights[0] + 2 * weights.dropFirst().reduce(0, +)
    weights = weights.map { $0 / sum }
    self.weights = weights.map { Float($0) }
    self.isSquared = isSquared
    self.interruption = interruption
  }

  func apply(_ plane: [UInt8], width: Int, height: Int) -> [UInt8] {
    let radius = weights.count - 1
    var result = [UInt8](repeating: 0, count: plane.count)
    var line = [Float](repeating: 0, count: width)
    var padded = [Float](repeating: 0, count: width + 2 * radius)
    for y in 0..<height where !interruption.isSet {
      for x in 0..<width { line[x] = 0 }
      for offset in -radius...radius {
        let row = mirrored(y + offset, height: height) * width
        let source = plane.span.extracting(row..<row + width)
        var target = line.mutableSpan
        addRow(source, weight: weights[abs(offset)], isSquared: isSquared, to: &target)
      }
      for x in 0..<width { padded[radius + x] = line[x] }
      // The plane repeats, narrow ones several times.
      for x in (0..<radius).reversed() { padded[x] = padded[x + width] }
      for x in radius + width..<padded.count { padded[x] = padded[x - width] }
      for x in 0..<width { line[x] = 0 }
      for offset in 0...2 * radius {
        var target = line.mutableSpan
        let source = padded.span.extracting(offset..<offset + width)
        addRow(source, weight: weights[abs(offset - radius)], to: &target)
      }
      for x in 0..<width {
        let value = isSquared ? line[x].squareRoot() : line[x]
        result[y * width + x] = UInt8(min(max(value, 0), 255) + 0.5)
      }
    }
    return result
  }
}

private func addRow(
  _ source: Span<UInt8>, weight: Float, isSquared: Bool, to target: inout MutableSpan<Float>
) {
  precondition(source.count == target.count)
  if isSquared {
    for x in 0..<target.count {
      let value = Float(source[x])
      target[x] += weight * (value * value)
    }
  } else {
    for x in 0..<target.count { target[x] += weight * Float(source[x]) }
  }
}

private func addRow(_ source: Span<Float>, weight: Float, to target: inout MutableSpan<Float>) {
  precondition(source.count == target.count)
  for x in 0..<target.count { target[x] += weight * source[x] }
}
