import SprocketCore
import SprocketTesting
import TestExpectations
import Testing

import func Glibc.sin

/// A plane of 8-bit samples resampled row by row.
private func made(
  _ frame: TestFrame, _ columns: ResamplingTable, _ rows: ResamplingTable
) -> [[Float]] {
  var resampler = PlaneResampler(columns: columns, rows: rows)
  var result: [[Float]] = []
  _ = frame.edited { picture in
    let source = picture.source[plane: 0]
    for y in 0..<rows.count {
      var line = [Float](repeating: .nan, count: columns.count)
      var numbers = line.mutableSpan
      resampler.makeRow(y, of: source, isDeep: frame.format.pixelFormat.isDeep, into: &numbers)
      result.append(line)
    }
  }
  return result
}

/// The weights of all samples of the source, by the filter's definition.
private func slowWeights(
  _ filter: ResamplingFilter, of count: Int, at center: Double, step: Double
) -> [Double] {
  let width = max(step, 1)
  func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }
  var weights = [Double](repeating: 0, count: count)
  let reach = Int(3 * width) + 3
  let middle = Int(center.rounded())
  for sample in middle - reach...middle + reach {
    let distance = Double(sample) - center
    let weight =
      switch filter {
      case .area where step > 1:
        max(min(distance + 0.5, width / 2) - max(distance - 0.5, -width / 2), 0)
      case .bilinear, .area: max(1 - abs(distance), 0)
      case .lanczos:
        abs(distance / width) < 3 ? sinc(distance / width) * sinc(distance / width / 3) : 0
      }
    weights[min(max(sample, 0), count - 1)] += weight
  }
  let sum = weights.reduce(0, +)
  return weights.map { $0 / sum }
}

@Suite struct ResamplingTests {
  /// First positions and steps: larger, the same, smaller, far smaller, and some that begin or end beyond.
  @Test(
    arguments: ResamplingFilter.allCases,
    [
      (-0.25, 0.5), (0, 1), (0.3, 1), (0.25, 1.5), (0.5, 2), (1.2, 2.37), (1, 3), (1.5, 4),
      (2.5, 6),
      (7, 15.3), (-9, 3), (30, 4),
    ])
  func equalsItsSlowTwin(_ filter: ResamplingFilter, _ place: (first: Double, step: Double)) {
    for format in [PixelFormat.grey, .y16] {
      for (width, height) in [(1, 1), (2, 3), (17, 5), (33, 31), (71, 2)] {
        for pattern in TestPattern.allCases {
          let frame = TestFrame(format, width: width, height: height, pattern)
          let bytes = frame.planes[0].map(Double.init)
          let samples =
            format.isDeep
            ? (0..<bytes.count / 2).map { index -> Double in
              bytes[2 * index] + 256 * bytes[2 * index + 1]
            } : bytes
          let columns = ResamplingTable(
            filter, sourceCount: width, count: 11, first: place.first, step: place.step)
          let rows = ResamplingTable(
            filter, sourceCount: height, count: 6, first: place.first, step: place.step)
          for (y, line) in made(frame, columns, rows).enumerated() {
            let down = slowWeights(
              filter, of: height, at: place.first + Double(y) * place.step, step: place.step)
            for (x, number) in line.enumerated() {
              let across = slowWeights(
                filter, of: width, at: place.first + Double(x) * place.step, step: place.step)
              var exact = 0.0
              for row in 0..<height {
                for column in 0..<width {
                  exact += down[row] * across[column] * samples[row * width + column]
                }
              }
              // Of 24 bits a float has some to spare for sums of up to 100 products.
              expectAtMost(abs(Double(number) - exact), (format.isDeep ? 0.05 : 2e-4))
            }
          }
        }
      }
    }
  }

  @Test(arguments: ResamplingFilter.allCases)
  func aFlatPlaneStaysFlat(_ filter: ResamplingFilter) {
    let frame = TestFrame(.grey, width: 40, height: 30, .full)
    for (first, step) in [(-0.4, 0.1), (3, 1.5), (0, 7)] {
      let columns = ResamplingTable(filter, sourceCount: 40, count: 9, first: first, step: step)
      let rows = ResamplingTable(filter, sourceCount: 30, count: 9, first: first, step: step)
      for line in made(frame, columns, rows) {
        expectTrue(line.allSatisfy { abs($0 - 255) < 1e-3 })
      }
    }
  }
}
