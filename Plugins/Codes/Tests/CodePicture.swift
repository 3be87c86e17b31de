import Glibc
import SprocketTesting

/// A code as modules: true for a dark one.
struct CodeModules {
  let width: Int
  let height: Int
  private let dark: [Bool]

  /// `#` is a dark module, `.` a light one.
  init(rows text: String) {
    let rows = text.split(separator: "\n")
    (width, height) = (rows[0].count, rows.count)
    dark = rows.flatMap { $0.map { $0 == "#" } }
  }

  /// A bar code of so many modules' height.
  init(bars: String, height: Int) {
    (width, self.height) = (bars.count, height)
    dark = (0..<height).flatMap { _ in bars.map { $0 == "#" } }
  }

  /// Four modules to a hexadecimal digit.
  init(hexadecimal text: String, side: Int) {
    (width, height) = (side, side)
    let bits = text.flatMap { digit in
      let value = digit.hexDigitValue ?? 0
      return [8, 4, 2, 1].map { value & $0 != 0 }
    }
    dark = Array(bits.prefix(side * side))
  }

  func isDark(_ x: Int, _ y: Int) -> Bool {
    x >= 0 && x < width && y >= 0 && y < height && dark[y * width + x]
  }
}

/// A picture of 8-bit luma into which codes are drawn.
struct CodePicture {
  let width: Int
  let height: Int
  var luma: [UInt8]

  init(width: Int, height: Int, level: UInt8 = 200) {
    (self.width, self.height) = (width, height)
    luma = [UInt8](repeating: level, count: width * height)
  }

  /// Where a code lies: its middle, pixels per module, and the turn in degrees with the clock. (0, 0) is the
  /// middle of the first pixel.
  struct Place {
    var x: Double
    var y: Double
    var module: Double
    var degrees = 0.0

    func corners(of code: CodeModules) -> [Double] {
      let (w, h) = (Double(code.width) / 2 * module, Double(code.height) / 2 * module)
      let (cosine, sine) = (cos(degrees * .pi / 180), sin(degrees * .pi / 180))
      let ends: [(Double, Double)] = [(-w, -h), (w, -h), (w, h), (-w, h)]
      var corners: [Double] = []
      for (u, v) in ends {
        corners.append(x + u * cosine - v * sine)
        corners.append(y + u * sine + v * cosine)
      }
      return corners
    }
  }

  /// Draws a code in black, with 4x4 samples per pixel.
  mutating func draw(_ code: CodeModules, _ place: Place) {
    let (cosine, sine) = (cos(place.degrees * .pi / 180), sin(place.degrees * .pi / 180))
    let reach = Int(Double(code.width + code.height) / 2 * place.module) + 2
    for row in max(0, Int(place.y) - reach)..<min(height, Int(place.y) + reach) {
      for column in max(0, Int(place.x) - reach)..<min(width, Int(place.x) + reach) {
        var sum = 0
        for sample in 0..<16 {
          let dx = Double(column) - place.x + (Double(sample % 4) - 1.5) / 4
          let dy = Double(row) - place.y + (Double(sample / 4) - 1.5) / 4
          let u = (dx * cosine + dy * sine) / place.module + Double(code.width) / 2
          let v = (dy * cosine - dx * sine) / place.module + Double(code.height) / 2
          if code.isDark(Int(u.rounded(.down)), Int(v.rounded(.down))) { sum += 1 }
        }
        let index = row * width + column
        luma[index] = UInt8(Int(luma[index]) * (16 - sum) / 16 + 20 * sum / 16)
      }
    }
  }

  /// Replaces each pixel by the mean of those up to `radius` away, across and down.
  mutating func blur(_ radius: Int) {
    for isAcross in [true, false] {
      let before = luma
      for y in 0..<height {
        for x in 0..<width {
          var (sum, count) = (0, 0)
          for step in -radius...radius {
            let (column, row) = isAcross ? (x + step, y) : (x, y + step)
            guard column >= 0, column < width, row >= 0, row < height else { continue }
            sum += Int(before[row * width + column])
            count += 1
          }
          luma[y * width + x] = UInt8(sum / count)
        }
      }
    }
  }

  mutating func addNoise(_ levels: Int, seed: UInt64) {
    var random = TestRandom(seed: seed)
    for index in luma.indices {
      let noise = Int(random.next() % UInt64(2 * levels + 1)) - levels
      luma[index] = UInt8(min(max(Int(luma[index]) + noise, 0), 255))
    }
  }

  /// As a frame of that time.
  func frame(at nanoseconds: Int64 = 0) -> TestFrame {
    var frame = TestFrame(width: width, height: height, luma: luma)
    frame.record.captured = .init(nanoseconds: nanoseconds, clock: .monotonic)
    return frame
  }
}
