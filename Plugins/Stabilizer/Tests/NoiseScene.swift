import SprocketCore
import TestSupport

@testable import Stabilizer

/// A scene whose level at any point is known exactly: value noise of three octaves on a smooth curve.
struct NoiseScene {
  /// Of the levels about 128: the largest deviation is about twice that.
  var contrast = 50.0
  private let lattice: [Double]

  init(seed: UInt64, contrast: Double = 50) {
    var random = TestRandom(seed: seed)
    self.contrast = contrast
    lattice = (0..<128 * 128).map { _ in Double.random(in: -1...1, using: &random) }
  }

  func level(_ x: Double, _ y: Double) -> Double {
    let fine = noise(x / 6, y / 6)
    return 128 + contrast * (0.6 * fine + 0.8 * noise(x / 15, y / 15) + 0.6 * noise(x / 40, y / 40))
  }

  private func noise(_ x: Double, _ y: Double) -> Double {
    let (column, row) = (x.rounded(.down), y.rounded(.down))
    let (fx, fy) = (Self.smooth(x - column), Self.smooth(y - row))
    let upper = mix(Int(column), Int(row), fx)
    let lower = mix(Int(column), Int(row) + 1, fx)
    return upper + (lower - upper) * fy
  }

  private func mix(_ column: Int, _ row: Int, _ part: Double) -> Double {
    let left = lattice[(row & 127) * 128 + (column & 127)]
    let right = lattice[(row & 127) * 128 + ((column + 1) & 127)]
    return left + (right - left) * part
  }

  private static func smooth(_ t: Double) -> Double { t * t * (3 - 2 * t) }
}

/// A picture of luma, and what can be done to it.
struct LumaPicture {
  let width: Int
  let height: Int
  var levels: [Double]

  /// What a camera sees of `scene` that has moved by `motion` since it was straight above the scene's
  /// (0, 0): a point of the scene at p is seen at `motion` p, about the middle.
  init(_ scene: NoiseScene, _ motion: Similarity = .identity, width: Int, height: Int) {
    self.width = width
    self.height = height
    let back = motion.inverse
    let (middleX, middleY) = (Double(width - 1) / 2, Double(height - 1) / 2)
    levels = (0..<width * height).map { place in
      let (x, y) = back.apply(Double(place % width) - middleX, Double(place / width) - middleY)
      return scene.level(x, y)
    }
  }

  /// Puts the part of `other` within `columns` and `rows` over it.
  mutating func cover(_ columns: Range<Int>, _ rows: Range<Int>, with other: LumaPicture) {
    for y in rows.clamped(to: 0..<height) {
      for x in columns.clamped(to: 0..<width) {
        levels[y * width + x] = other.levels[y * width + x]
      }
    }
  }

  /// Blurs along the rows: means of `reach` pixels to either side.
  mutating func blur(reach: Int) {
    let sharp = levels
    for place in levels.indices {
      let (row, x) = (place / width * width, place % width)
      let columns = max(0, x - reach)...min(width - 1, x + reach)
      levels[place] = columns.reduce(0) { $0 + sharp[row + $1] } / Double(columns.count)
    }
  }

  /// Adds noise of that deviation: the sum of twelve uniform numbers is nearly Gaussian.
  mutating func addNoise(deviation: Double, seed: UInt64) {
    var random = TestRandom(seed: seed)
    for place in levels.indices {
      let sum = (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &random) }
      levels[place] += sum * deviation
    }
  }

  var bytes: [UInt8] { levels.map { UInt8(min(max($0, 0), 255).rounded()) } }
}

extension MotionEstimator {
  /// Compares two pictures, scaled down as the engine does it.
  mutating func motion(from first: LumaPicture, to second: LumaPicture) -> FrameMotion {
    load(first, into: &earlier)
    load(second, into: &current)
    return motion()
  }

  private func load(_ picture: LumaPicture, into pyramid: inout LumaPyramid) {
    let bytes = picture.bytes
    for (level, scale) in scales.enumerated() {
      let side = scale.divisor
      let (columns, rows) = (
        (picture.width + side - 1) / side, (picture.height + side - 1) / side
      )
      for row in 0..<rows {
        let means = (0..<columns).map { column in
          Self.mean(bytes, picture.width, picture.height, column * side, row * side, side)
        }
        pyramid.copy(means.span, level: level, y: row)
      }
    }
  }

  private static func mean(
    _ bytes: [UInt8], _ width: Int, _ height: Int, _ x: Int, _ y: Int, _ side: Int
  ) -> UInt8 {
    var (sum, count) = (0, 0)
    for row in y..<min(y + side, height) {
      for column in x..<min(x + side, width) {
        sum += Int(bytes[row * width + column])
        count += 1
      }
    }
    return UInt8((sum + count / 2) / count)
  }
}
