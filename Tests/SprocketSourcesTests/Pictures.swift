import Foundation
import SprocketPixels

@testable import SprocketScene

/// Draws frames for tests, and looks at them with slow and obvious code.
struct Picture {
  var width: Int
  var height: Int
  var luma: [Double]

  subscript(x: Int, y: Int) -> Double { luma[y * width + x] }

  var mean: Double { luma.reduce(0, +) / Double(luma.count) }

  /// Variance of the 4-neighbour Laplacian over the inner pixels.
  var laplacianVariance: Double {
    var values: [Double] = []
    for y in 1..<height - 1 {
      for x in 1..<width - 1 {
        values.append(
          4 * self[x, y] - self[x - 1, y] - self[x + 1, y] - self[x, y - 1] - self[x, y + 1])
      }
    }
    let mean = values.reduce(0, +) / Double(values.count)
    return values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count)
  }

  /// Interpolated by Lanczos's windowed sinc of 8 by 8, for inner places.
  func sample(_ x: Double, _ y: Double) -> Double {
    let (column, row) = (Int(x.rounded(.down)), Int(y.rounded(.down)))
    let across = Self.weights(x - Double(column))
    let down = Self.weights(y - Double(row))
    var sum = 0.0
    for j in 0..<8 {
      let start = (row + j - 3) * width + column - 3
      var line = 0.0
      for i in 0..<8 { line += across[i] * luma[start + i] }
      sum += down[j] * line
    }
    return sum
  }

  private static func weights(_ t: Double) -> [Double] {
    func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }
    var weights = [Double](repeating: 0, count: 8)
    var sum = 0.0
    for tap in 0..<8 {
      let place = Double(tap - 3) - t
      weights[tap] = abs(place) < 4 ? sinc(place) * sinc(place / 4) : 0
      sum += weights[tap]
    }
    for tap in 0..<8 { weights[tap] /= sum }
    return weights
  }
}

/// A sensor that adds nothing of its own.
func quietSensor(_ change: (inout SceneSensor) -> Void = { _ in }) -> SceneSensor {
  var sensor = SceneSensor()
  sensor.noise = 0
  change(&sensor)
  return sensor
}

extension SceneRenderer {
  /// The bytes of one frame, unpadded.
  mutating func bytes(_ moment: SceneMoment, chroma: ChromaSubsampling = .gray) -> [UInt8] {
    let layout = SceneLayout(width: width, height: height, chroma: chroma)
    var memory = [UInt8](repeating: 0, count: layout.byteCount(width: width, height: height))
    var span = memory.mutableSpan
    draw(moment, layout: layout, into: &span)
    return memory
  }

  mutating func picture(_ moment: SceneMoment) -> Picture {
    Picture(width: width, height: height, luma: bytes(moment).map(Double.init))
  }
}

func moment(_ change: (inout SceneMoment) -> Void = { _ in }) -> SceneMoment {
  var moment = SceneMoment()
  change(&moment)
  return moment
}
