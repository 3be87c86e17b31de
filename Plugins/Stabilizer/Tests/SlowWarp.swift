import Glibc
import SprocketCore

@testable import Stabilizer

/// A plane of numbers, by the formulas.
struct SlowPlane {
  let width: Int
  let height: Int
  var levels: [Double]

  /// That of the nearest sample, where there is none.
  subscript(_ x: Int, _ y: Int) -> Double {
    levels[min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1)]
  }

  /// Sums six by six samples around each position, as far as Lanczos' kernel reaches.
  func warpedAtOnce(_ geometry: PlaneGeometry) -> SlowPlane {
    made { x, y in
      let (u, v) = geometry.source(x, y)
      return sum(v) { row in sum(u) { column in self[column, row] } }
    }
  }

  /// The same in two passes: along the rows, then down the columns.
  func warpedInTwoPasses(_ geometry: PlaneGeometry) -> SlowPlane {
    let (along, down) = (geometry.along, geometry.down)
    return made { x, y in
      sum(down.x * Double(x) + down.y * Double(y) + down.start) { row in
        sum(along.x * Double(x) + along.y * Double(row) + along.start) { column in
          self[column, row]
        }
      }
    }
  }

  private func made(_ level: (Int, Int) -> Double) -> SlowPlane {
    let levels = (0..<width * height).map { level($0 % width, $0 / width) }
    return SlowPlane(width: width, height: height, levels: levels)
  }

  private func sum(_ position: Double, _ level: (Int) -> Double) -> Double {
    let first = Int(position.rounded(.down)) - 2
    var (sum, weights) = (0.0, 0.0)
    for sample in first..<first + 6 {
      let weight = lanczos(Double(sample) - position)
      sum += weight * level(sample)
      weights += weight
    }
    return sum / weights
  }
}

private func lanczos(_ distance: Double) -> Double {
  guard abs(distance) < 3 else { return 0 }
  guard abs(distance) > 1e-9 else { return 1 }
  let angle = Double.pi * distance
  return 3 * sin(angle) * sin(angle / 3) / (angle * angle)
}

extension PlaneGeometry {
  /// Where a sample is found in the source.
  func source(_ x: Int, _ y: Int) -> (u: Double, v: Double) {
    let v = down.x * Double(x) + down.y * Double(y) + down.start
    return (along.x * Double(x) + along.y * v + along.start, v)
  }
}

/// Pixels that a sample of a plane stands for, each way.
func pixelsPerSample(_ format: PixelFormat, plane: Int) -> (columns: Int, rows: Int) {
  guard plane > 0 else { return (1, 1) }
  return switch format.subsampling {
  case .yuv420: (2, 2)
  case .yuv422: (2, 1)
  case .yuv440: (1, 2)
  case .yuv411: (4, 1)
  case .yuv444, .gray, nil: (1, 1)
  }
}
