import Glibc
internal import SprocketCore

/// A Gaussian blur of a plane that repeats in x and is mirrored in y.
struct SceneBlur {
  /// Weights from one side to the other, summing to 1; then zeros, so that they come in fours.
  private let weights: [Float]
  private let radius: Int
  /// Whether bytes are square roots of light: blur happens in light, as in a lens.
  private let isSquared: Bool
  private let interruption: SourceInterrupt

  init(sigma: Double, isSquared: Bool, _ interruption: SourceInterrupt = SourceInterrupt()) {
    let radius = max(1, Int((sigma * 3.2).rounded(.up)))
    self.radius = radius
    var side = (0...radius).map { exp(-Double($0 * $0) / (2 * sigma * sigma)) }
    let sum = side[0] + 2 * side.dropFirst().reduce(0, +)
    side = side.map { $0 / sum }
    let count = (2 * radius + 1 + 3) & ~3
    weights = (0..<count).map { tap in tap > 2 * radius ? 0 : Float(side[abs(tap - radius)]) }
    self.isSquared = isSquared
    self.interruption = interruption
  }

  func apply(_ plane: [UInt8], width: Int, height: Int) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: plane.count)
    var light = [Float](repeating: 0, count: width * height)
    for place in light.indices {
      let value = Float(plane[place])
      light[place] = isSquared ? value * value : value
    }
    var line = [Float](repeating: 0, count: width)
    // The last weights are zeros, and read as far as this is wide.
    var padded = [Float](repeating: 0, count: width + weights.count - 1)
    for y in 0..<height where !interruption.isSet {
      var whole = padded.mutableSpan
      var target = whole._mutatingExtracting(radius..<radius + width)
      for tap in stride(from: 0, to: weights.count, by: 4) {
        func row(_ tap: Int) -> Range<Int> {
          let start = mirrored(y + min(tap, 2 * radius) - radius, height: height) * width
          return start..<start + width
        }
        let light = light.span
        addRows(
          light.extracting(row(tap)), light.extracting(row(tap + 1)),
          light.extracting(row(tap + 2)), light.extracting(row(tap + 3)),
          weights: fourWeights(tap), isFirst: tap == 0, to: &target)
      }
      // The plane repeats, narrow ones several times.
      for x in (0..<radius).reversed() { padded[x] = padded[x + width] }
      for x in radius + width..<padded.count { padded[x] = padded[x - width] }
      target = line.mutableSpan
      for tap in stride(from: 0, to: weights.count, by: 4) {
        let padded = padded.span
        func shifted(_ tap: Int) -> Range<Int> { tap..<tap + width }
        addRows(
          padded.extracting(shifted(tap)), padded.extracting(shifted(tap + 1)),
          padded.extracting(shifted(tap + 2)), padded.extracting(shifted(tap + 3)),
          weights: fourWeights(tap), isFirst: tap == 0, to: &target)
      }
      if isSquared { for x in 0..<width { line[x] = line[x].squareRoot() } }
      var bytes = result.mutableSpan
      var out = bytes._mutatingExtracting(y * width..<(y + 1) * width)
      round(line.span, into: &out)
    }
    return result
  }

  private func fourWeights(_ tap: Int) -> SIMD4<Float> {
    SIMD4(weights[tap], weights[tap + 1], weights[tap + 2], weights[tap + 3])
  }
}

/// Adds four weighted rows, one after the other; the first time to zero.
private func addRows(
  _ a: Span<Float>, _ b: Span<Float>, _ c: Span<Float>, _ d: Span<Float>, weights: SIMD4<Float>,
  isFirst: Bool, to target: inout MutableSpan<Float>
) {
  let count = target.count
  precondition(a.count == count && b.count == count && c.count == count && d.count == count)
  let (wa, wb, wc, wd) = (weights.x, weights.y, weights.z, weights.w)
  if isFirst {
    for x in 0..<count { target[x] = wa * a[x] + wb * b[x] + wc * c[x] + wd * d[x] }
  } else {
    for x in 0..<count {
      target[x] = target[x] + wa * a[x] + wb * b[x] + wc * c[x] + wd * d[x]
    }
  }
}

private func round(_ line: Span<Float>, into out: inout MutableSpan<UInt8>) {
  precondition(line.count == out.count)
  for x in 0..<out.count { out[x] = byte(line[x]) }
}
