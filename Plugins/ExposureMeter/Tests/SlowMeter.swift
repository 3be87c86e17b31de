import Glibc
import SprocketCore

@testable import ExposureMeter

/// The definitions of the README, pixel by pixel, for an sRGB picture.
struct SlowMeter {
  let luma: [UInt8]
  let width: Int
  let height: Int
  /// The edges of the bands that the mode divides the picture into, and rows of the grid in each.
  var bands: [(rows: Range<Int>, count: Int)] = []

  static func light(_ level: UInt8) -> Double {
    let signal = max(Double(level), 0.5) / 255
    return signal <= 0.04045 ? signal / 12.92 : pow((signal + 0.055) / 1.055, 2.4)
  }

  /// Pixels on the grid, with their places.
  var pixels: [(x: Int, y: Int, level: UInt8)] {
    let rows = gridRows
    return luma.indices.map { (x: $0 % width, y: $0 / width, level: luma[$0]) }
      .filter { rows.isEmpty || rows.contains($0.y) }
  }

  /// The middles of equal parts of each band.
  var gridRows: Set<Int> {
    Set(
      bands.flatMap { band in
        let part = Double(band.rows.count) / Double(band.count)
        return (0..<band.count).map { band.rows.lowerBound + Int((Double($0) + 0.5) * part) }
      })
  }

  func logMean(of levels: [UInt8]) -> Double {
    levels.reduce(0) { $0 + log2(Self.light($1)) } / Double(levels.count)
  }

  func contains(_ start: Double, _ length: Double, _ count: Int, _ at: Int) -> Bool {
    func edge(_ fraction: Double) -> Int { Int((fraction * Double(count)).rounded()) }
    // Never empty: of one row or column, the only one belongs to any region.
    let first = min(edge(start), count - 1)
    return at >= first && at < max(edge(start + length), first + 1)
  }

  var average: Double { logMean(of: pixels.map(\.level)) }

  var center: Double {
    let isMiddle = { (x: Int, y: Int) in
      contains(0.25, 0.5, width, x) && contains(0.25, 0.5, height, y)
    }
    let middle = pixels.filter { isMiddle($0.x, $0.y) }.map(\.level)
    let around = pixels.filter { !isMiddle($0.x, $0.y) }.map(\.level)
    if around.isEmpty { return logMean(of: middle) }
    if middle.isEmpty { return logMean(of: around) }
    return 0.75 * logMean(of: middle) + 0.25 * logMean(of: around)
  }

  func spot(_ point: Point) -> Double {
    func start(_ middle: Double) -> Double { min(max(middle - 0.08, 0), 0.84) }
    let levels = luma.indices.filter {
      contains(start(point.x), 0.16, width, $0 % width)
        && contains(start(point.y), 0.16, height, $0 / width)
    }.map { luma[$0] }
    return logMean(of: levels)
  }

  var zones: Double {
    if luma.count == 1 { return average }
    var zones: [[UInt8]] = Array(repeating: [], count: 81)
    for pixel in pixels {
      // Zone i begins at floor(i n / 9).
      let column = (0..<9).last { $0 * width / 9 <= pixel.x } ?? 0
      let row = (0..<9).last { $0 * height / 9 <= pixel.y } ?? 0
      zones[9 * row + column].append(pixel.level)
    }
    var (sum, weights) = (0.0, 0.0)
    for (index, levels) in zones.enumerated() where !levels.isEmpty {
      let (x, y) = (Double(index % 9 - 4) / 4, Double(index / 9 - 4) / 4)
      let weight = max(0, 1 - 0.75 * (x * x + y * y).squareRoot())
      sum += weight * logMean(of: levels)
      weights += weight
    }
    return sum / weights
  }

  var highlights: Double {
    let lights = pixels.map { Self.light($0.level) }.sorted(by: >)
    let wanted = 0.02 * Double(lights.count)
    let whole = lights.prefix(Int(wanted))
    let rest = wanted - Double(whole.count)
    return log2((whole.reduce(0, +) + rest * lights[whole.count]) / wanted)
  }

  /// The level that `share` of the pixels do not exceed.
  func percentile(_ share: Double) -> Double {
    let lights = pixels.map { Self.light($0.level) }.sorted()
    return log2(lights[max(Int((share * Double(lights.count)).rounded(.up)), 1) - 1])
  }

  func value(_ mode: MeteringMode, _ point: Point) -> Double {
    switch mode {
    case .average: average
    case .center: center
    case .spot: spot(point)
    case .zones: zones
    case .highlights: highlights
    }
  }
}
