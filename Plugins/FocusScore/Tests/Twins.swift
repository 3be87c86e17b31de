import SprocketCore

@testable import FocusScore

/// What a window says by the definitions, pixel by pixel, in floating point.
struct SlowFocus {
  let luma: [UInt8]
  let width: Int
  let columns: Range<Int>
  let rows: Range<Int>

  func level(_ x: Int, _ y: Int) -> Double { Double(luma[y * width + x]) }

  /// A mask of 3x3 coefficients at one pixel.
  func masked(_ mask: [Double], _ x: Int, _ y: Int) -> Double {
    var sum = 0.0
    for (index, coefficient) in mask.enumerated() {
      sum += coefficient * level(x + index % 3 - 1, y + index / 3 - 1)
    }
    return sum
  }

  static let laplacian: [Double] = [0, 1, 0, 1, -4, 1, 0, 1, 0]
  static let noise: [Double] = [1, -2, 1, -2, 4, -2, 1, -2, 1]
  static let sobelX: [Double] = [-1, 0, 1, -2, 0, 2, -1, 0, 1]
  static let sobelY: [Double] = [-1, -2, -1, 0, 0, 0, 1, 2, 1]

  /// The responses at all pixels of a cell that have all their neighbours in the window.
  func responses(_ mask: [Double], in cell: Cell) -> [Double] {
    var found: [Double] = []
    for y in cell.rows where y > rows.lowerBound && y < rows.upperBound - 1 {
      for x in cell.columns where x > columns.lowerBound && x < columns.upperBound - 1 {
        found.append(masked(mask, x, y))
      }
    }
    return found
  }

  /// Every 2nd row of the window.
  func isSampled(_ y: Int) -> Bool { (y - rows.lowerBound) % 2 == 0 }

  /// Half the mean squared difference over 12 pixels, mean of both directions.
  func semivariance(in cell: Cell) -> Double {
    var along: [Double] = []
    var down: [Double] = []
    for y in cell.rows where isSampled(y) {
      for x in cell.columns {
        if columns.contains(x - 6), columns.contains(x + 6) {
          along.append(level(x + 6, y) - level(x - 6, y))
        }
        if rows.contains(y - 6), rows.contains(y + 6) {
          down.append(level(x, y + 6) - level(x, y - 6))
        }
      }
    }
    return (energy(along) + energy(down)) / 4
  }

  func mean(in cell: Cell) -> Double {
    let levels = cell.rows.filter(isSampled).flatMap { y in cell.columns.map { level($0, y) } }
    return levels.reduce(0, +) / Double(levels.count)
  }

  func score(_ measure: FocusScore.Measure, in cell: Cell) -> Double {
    let laplacians = responses(Self.laplacian, in: cell)
    switch measure {
    case .laplacian:
      let mean = laplacians.reduce(0, +) / Double(laplacians.count)
      return energy(laplacians.map { $0 - mean })
    case .tenengrad:
      return energy(responses(Self.sobelX, in: cell)) + energy(responses(Self.sobelY, in: cell))
    case .normalized:
      let detail = energy(laplacians) / 20 - energy(responses(Self.noise, in: cell)) / 36
      let brightness = mean(in: cell) / 8
      return max(detail, 0) / (brightness * brightness + 64)
    }
  }

  func noise(in cell: Cell) -> Double {
    (energy(responses(Self.noise, in: cell)) / 36).squareRoot()
  }

  func contrast(in cell: Cell) -> Double {
    let noise = noise(in: cell)
    let deviation = max(semivariance(in: cell) - noise * noise - 1, 0).squareRoot()
    return deviation == 0 ? 0 : deviation / (deviation + mean(in: cell))
  }

  private func energy(_ values: [Double]) -> Double {
    values.reduce(0) { $0 + $1 * $1 } / Double(max(values.count, 1))
  }

  struct Cell {
    let columns: Range<Int>
    let rows: Range<Int>
  }

  var whole: Cell { Cell(columns: columns, rows: rows) }

  /// 4x4 of them, row by row.
  var cells: [Cell] {
    func quarter(_ range: Range<Int>, _ index: Int) -> Range<Int> {
      range.lowerBound + index * range.count / 4..<range.lowerBound + (index + 1) * range.count / 4
    }
    return (0..<16).map { Cell(columns: quarter(columns, $0 % 4), rows: quarter(rows, $0 / 4)) }
  }
}
