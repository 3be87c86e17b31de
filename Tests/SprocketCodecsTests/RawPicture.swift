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
          let isInHighBits = if case .semiPlanar420Words = format.layout { true } else { false }
          return format.isDeep && !isInHighBits && column % 2 == 1 ? byte & mask : byte
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
    case .rgba: return (at(4, 0), at(4, 1), at(4, 2))
    case .bgrx, .bgra: return (at(4, 2), at(4, 1), at(4, 0))
    case .xrgb, .argb, nil: return (at(4, 1), at(4, 2), at(4, 3))
    }
  }

  /// Luma in the range of the source, 8 bits.
  private func storedLuma(_ x: Int, _ y: Int, _ range: Color.Range) -> Int {
    switch format.layout {
    case .packed422: return Int(planes[0][y][x * 2 + pairOrder.y])
    case .rgb:
      let (r, g, b) = red(x, y)
      return (77 * r + 150 * g + 29 * b + 128) / 256
    case .planar, .semiPlanar420, .semiPlanar420Words, .packedGray, .rgbWords, .bayer, .encoded:
      guard format.bitsPerSample > 8 else { return Int(planes[0][y][x]) }
      let one = 1 << (format.bitsPerSample - 8)
      let (scale, most) = range == .limited ? (256, 256 * one) : (255, 256 * one - 1)
      return min((2 * scale * word(x, y) + most) / (2 * most), 255)
    }
  }

  private func word(_ x: Int, _ y: Int) -> Int {
    let row = planes[0][y]
    switch format.layout {
    case .semiPlanar420Words(let depth): return Self.word(row, x) >> (16 - depth.rawValue)
    case .packedGray(.packedTen):
      let group = x / 4 * 5
      return Int(row[group + x % 4]) * 4 + (Int(row[group + 4]) >> (2 * (x % 4))) % 4
    case .packedGray:
      let group = x / 2 * 3
      return Int(row[group + x % 2]) * 16 + (Int(row[group + 2]) >> (4 * (x % 2))) % 16
    case .rgbWords: return rounded(colors(x, y).luma)
    case .planar, .semiPlanar420, .packed422, .rgb, .bayer, .encoded: return Self.word(row, x)
    }
  }

  /// Returns red, blue and luma of a pixel of RGB in words, as 32-bit numbers like the conversion's.
  private func colors(_ x: Int, _ y: Int) -> (r: Float, b: Float, luma: Float) {
    guard case .rgbWords(let words) = format.layout else { return (0, 0, 0) }
    let parts = (0..<3).map { Float(Self.word(planes[0][y], words.perPixel * x + $0)) }
    return (parts[0], parts[2], 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2])
  }

  private func rounded(_ level: Float) -> Int { Int(min(max(level, 0), 65535) + 0.5) }

  private static func word(_ row: [UInt8], _ x: Int) -> Int {
    Int(row[2 * x]) + 256 * Int(row[2 * x + 1])
  }

  private static func bytes(_ words: [Int]) -> [UInt8] {
    words.flatMap { [UInt8($0 % 256), UInt8($0 / 256)] }
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
    case .semiPlanar420Words(let depth):
      let luma = (0..<height).map { y in Self.bytes((0..<width).map { word($0, y) }) }
      let chroma = (0..<2).map { offset in
        planes[1].map { row in
          Self.bytes(
            stride(from: offset, to: row.count / 2, by: 2).map {
              Self.word(row, $0) >> (16 - depth.rawValue)
            })
        }
      }
      return [luma] + chroma
    case .packedGray:
      return [(0..<height).map { y in Self.bytes((0..<width).map { word($0, y) }) }]
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
    case .rgbWords:
      func plane(_ value: ((r: Float, b: Float, luma: Float)) -> Float) -> [[UInt8]] {
        (0..<height).map { y in
          Self.bytes((0..<width).map { x in rounded(value(colors(x, y))) })
        }
      }
      return [
        plane { $0.luma }, plane { 32768 + ($0.b - $0.luma) / 1.772 },
        plane { 32768 + ($0.r - $0.luma) / 1.402 },
      ]
    case .planar(_, _, .blueFirst), .bayer, .encoded: return planes
    }
  }
}
