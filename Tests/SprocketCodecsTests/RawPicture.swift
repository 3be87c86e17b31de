import SprocketCore
import TestSupport

/// A picture of random bytes in a raw format, read one sample at a time: the slow twin.
struct RawPicture {
  let format: PixelFormat
  let width: Int
  let height: Int
  /// By plane and row.
  let planes: [[[UInt8]]]

  init(_ format: PixelFormat, width: Int, height: Int, seed: UInt64 = 7) {
    self.format = format
    self.width = width
    self.height = height
    var random = TestRandom(seed: seed)
    planes = (0..<format.planeCount).map { plane in
      let size = format.plane(plane, width: width, height: height)
      return (0..<size.rows).map { _ in
        (0..<size.bytesPerRow).map { column in
          let byte = UInt8.random(in: 0...255, using: &random)
          // Of ten bits the upper byte holds two, of twelve four.
          let mask = UInt8(truncatingIfNeeded: (1 << (format.bitsPerSample - 8)) - 1)
          return format.isDeep && column % 2 == 1 ? byte & mask : byte
        }
      }
    }
  }

  /// Where the first luma of a pair, U, and V lie among four bytes.
  private var pairOrder: (y: Int, u: Int, v: Int) { format == .yuyv ? (0, 1, 3) : (1, 0, 2) }

  private func red(_ x: Int, _ y: Int) -> (r: Int, g: Int, b: Int) {
    let row = planes[0][y]
    func at(_ bytes: Int, _ offset: Int) -> Int { Int(row[x * bytes + offset]) }
    switch format.rgbOrder {
    case .rgb: return (at(3, 0), at(3, 1), at(3, 2))
    case .bgr: return (at(3, 2), at(3, 1), at(3, 0))
    case .bgrx: return (at(4, 2), at(4, 1), at(4, 0))
    case .xrgb, nil: return (at(4, 1), at(4, 2), at(4, 3))
    }
  }

  /// Luma in the range of the source, 8 bits.
  private func storedLuma(_ x: Int, _ y: Int, _ range: Color.Range) -> Int {
    switch format.layout {
    case .packed422: return Int(planes[0][y][x * 2 + pairOrder.y])
    case .rgb:
      let (r, g, b) = red(x, y)
      return (77 * r + 150 * g + 29 * b + 128) / 256
    case .planar, .semiPlanar420, .bayer, .jpeg:
      guard format.isDeep else { return Int(planes[0][y][x]) }
      let one = 1 << (format.bitsPerSample - 8)
      let (scale, most) = range == .limited ? (256, 256 * one) : (255, 256 * one - 1)
      return min((2 * scale * word(x, y) + most) / (2 * most), 255)
    }
  }

  private func word(_ x: Int, _ y: Int) -> Int {
    Int(planes[0][y][2 * x]) + 256 * Int(planes[0][y][2 * x + 1])
  }

  func luma(_ range: Color.Range) -> [[UInt8]] {
    (0..<height).map { y in
      (0..<width).map { x in
        let stored = storedLuma(x, y, range)
        guard range == .limited else { return UInt8(stored) }
        return UInt8(min(max((Double(stored - 16) * 255 / 219).rounded(), 0), 255))
      }
    }
  }

  /// The planes of the image.
  var image: [[[UInt8]]] {
    switch format.layout {
    case .planar(_, _, .redFirst): return [planes[0], planes[2], planes[1]]
    case .semiPlanar420(let order):
      let first = planes[1].map { row in stride(from: 0, to: row.count, by: 2).map { row[$0] } }
      let second = planes[1].map { row in stride(from: 1, to: row.count, by: 2).map { row[$0] } }
      return order == .blueFirst ? [planes[0], first, second] : [planes[0], second, first]
    case .packed422:
      func chroma(_ offset: Int) -> [[UInt8]] {
        planes[0].map { row in stride(from: offset, to: row.count, by: 4).map { row[$0] } }
      }
      return [luma(.full), chroma(pairOrder.u), chroma(pairOrder.v)]
    case .rgb:
      func chroma(_ value: ((r: Int, g: Int, b: Int)) -> Int) -> [[UInt8]] {
        (0..<height).map { y in
          (0..<width).map { x in UInt8((value(red(x, y)) + 32896) / 256) }
        }
      }
      return [
        luma(.full), chroma { 127 * $0.b - 84 * $0.g - 43 * $0.r },
        chroma { 127 * $0.r - 107 * $0.g - 20 * $0.b },
      ]
    case .planar(_, _, .blueFirst), .bayer, .jpeg: return planes
    }
  }
}
