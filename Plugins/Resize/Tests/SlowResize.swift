import Glibc
import SprocketTesting

/// Resizes by the definition of each filter, in double precision, a sum over all samples for each sample.
enum SlowResize {
  /// The samples of a plane.
  static func samples(_ bytes: [UInt8], isDeep: Bool) -> [Double] {
    guard isDeep else { return bytes.map(Double.init) }
    return (0..<bytes.count / 2).map { index -> Double in
      let (low, high) = (Double(bytes[2 * index]), Double(bytes[2 * index + 1]))
      return low + 256 * high
    }
  }

  /// All planes, with fractions and beyond the range. `place` says where a point of the target lies in the
  /// source, on an axis.
  static func planes(
    _ frame: TestFrame, width: Int, height: Int, _ filter: ResamplingFilter,
    across: (Double) -> Double, down: (Double) -> Double
  ) -> [[Double]] {
    let pixels = frame.format.pixelFormat
    let bytes = pixels.isDeep ? 2 : 1
    return frame.planes.indices.map { plane in
      let old = pixels.plane(plane, width: frame.format.width, height: frame.format.height)
      let new = pixels.plane(plane, width: width, height: height)
      let chroma = plane == 0 ? nil : pixels.subsampling
      let columns = weights(
        filter, new.bytesPerRow / bytes, of: old.bytesPerRow / bytes,
        Double(chroma?.horizontalFactor ?? 1), across)
      let rows = weights(
        filter, new.rows, of: old.rows, Double(chroma?.verticalFactor ?? 1), down)
      let source = samples(frame.planes[plane], isDeep: pixels.isDeep)
      let count = old.bytesPerRow / bytes
      var result: [Double] = []
      for row in rows {
        for column in columns {
          var sum = 0.0
          for (y, weight) in row.enumerated() where weight != 0 {
            for (x, other) in column.enumerated() where other != 0 {
              sum += weight * other * source[y * count + x]
            }
          }
          result.append(sum)
        }
      }
      return result
    }
  }

  /// For each new sample, the weight of each old one. A sample is in the middle of `factor` pixels.
  private static func weights(
    _ filter: ResamplingFilter, _ count: Int, of source: Int, _ factor: Double,
    _ place: (Double) -> Double
  ) -> [[Double]] {
    func position(_ index: Int) -> Double {
      let pixel = (Double(index) + 0.5) * factor - 0.5
      return (place(pixel) + 0.5) / factor - 0.5
    }
    let width = max(position(1) - position(0), 1)
    return (0..<count).map { index in
      let center = position(index)
      var weights = [Double](repeating: 0, count: source)
      let reach = Int(3 * width) + 3
      for sample in Int(center) - reach...Int(center) + reach {
        weights[min(max(sample, 0), source - 1)] +=
          weight(filter, Double(sample) - center, width: width)
      }
      let sum = weights.reduce(0, +)
      return weights.map { $0 / sum }
    }
  }

  private static func weight(
    _ filter: ResamplingFilter, _ distance: Double, width: Double
  ) -> Double {
    func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }
    switch filter {
    case .area where width > 1:
      let overlap = min(distance + 0.5, width / 2) - max(distance - 0.5, -width / 2)
      return max(overlap, 0)
    case .bilinear, .area: return max(1 - abs(distance), 0)
    case .lanczos:
      let x = distance / width
      return abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0
    }
  }
}

extension TestFrame {
  /// Mean and greatest distance from `planes`, in levels, after these were clamped.
  func distance(from planes: [[Double]]) -> (mean: Double, most: Double) {
    let white = Double((1 << format.pixelFormat.bitsPerSample) - 1)
    var (sum, count, most) = (0.0, 0, 0.0)
    for (mine, other) in zip(self.planes, planes) {
      let samples = SlowResize.samples(mine, isDeep: format.pixelFormat.isDeep)
      guard samples.count == other.count else { return (.infinity, .infinity) }
      for (sample, exact) in zip(samples, other) {
        let distance = abs(sample - min(max(exact, 0), white))
        (sum, count, most) = (sum + distance, count + 1, max(most, distance))
      }
    }
    return (sum / Double(count), most)
  }
}
