import SprocketTesting

@testable import Debayer

/// The obvious way: for each pixel, the sums that figure 2 of the paper draws, in `Double`.
struct SlowDebayer {
  var method = Debayer.Method.malvar
  var bits = 8
  var red = 1.0
  var blue = 1.0
  var black = 0.0

  /// Colours of the top left 2x2 pixels.
  private static func filters(_ order: BayerOrder) -> [Character] {
    switch order {
    case .rggb: Array("RGGB")
    case .grbg: Array("GRBG")
    case .gbrg: Array("GBRG")
    case .bggr: Array("BGGR")
    }
  }

  /// The samples of a row, bit by bit.
  private static func samples(_ row: ArraySlice<UInt8>, _ samples: BayerSamples, _ width: Int)
    -> [Int]
  {
    let bytes = row.map { Int($0) }
    return (0..<width).map { x in
      switch samples {
      case .eight: bytes[x]
      case .ten, .twelve, .sixteen: bytes[2 * x] + 256 * bytes[2 * x + 1]
      case .packedTen: 4 * bytes[x / 4 * 5 + x % 4] + bytes[x / 4 * 5 + 4] >> (2 * (x % 4)) % 4
      case .packedTwelve: 16 * bytes[x / 2 * 3 + x % 2] + bytes[x / 2 * 3 + 2] >> (4 * (x % 2)) % 16
      }
    }
  }

  /// Planes of samples before they are rounded.
  func planes(_ frame: TestFrame) -> [[Double]] {
    guard case .bayer(let order, let kind) = frame.format.pixelFormat.layout else { return [] }
    let (width, height) = (frame.format.width, frame.format.height)
    let rowBytes = frame.planes[0].count / height
    let full = Double(1 << kind.depth.rawValue - 1)
    let white = Double(1 << bits - 1)
    let filters = Self.filters(order)
    func filter(_ x: Int, _ y: Int) -> Character { filters[abs(y) % 2 * 2 + abs(x) % 2] }
    let rows = (0..<height).map { y in
      Self.samples(frame.planes[0][y * rowBytes..<(y + 1) * rowBytes], kind, width).enumerated().map
      {
        let gain = filter($0.offset, y) == "R" ? red : filter($0.offset, y) == "B" ? blue : 1
        let scaled = (Double($0.element) - black * full) * gain * white / (full - black * full)
        return min(max(scaled, 0), white)
      }
    }
    func inside(_ place: Int, _ count: Int) -> Int {
      var place = place
      while place < 0 || place >= count { place = place < 0 ? -place : 2 * (count - 1) - place }
      return place
    }
    func at(_ x: Int, _ y: Int) -> Double { rows[inside(y, height)][inside(x, width)] }
    var planes = [[Double]](repeating: [], count: 3)
    for y in 0..<height {
      for x in 0..<width {
        func sum(_ offsets: [(Int, Int)]) -> Double {
          offsets.reduce(0) { $0 + at(x + $1.0, y + $1.1) }
        }
        func color(_ wanted: Character) -> Double {
          let value = found(wanted, filter(x, y), isBeside: filter(x + 1, y) == wanted, sum)
          return min(max(value, 0), white)
        }
        let (r, g, b) = (color("R"), color("G"), color("B"))
        let luma = 0.299 * r + 0.587 * g + 0.114 * b
        let middle = Double(1 << (bits - 1))
        planes[0].append(luma)
        planes[1].append(min((b - luma) / 1.772 + middle, white))
        planes[2].append(min((r - luma) / 1.402 + middle, white))
      }
    }
    return planes
  }

  /// One colour of a pixel of colour `own`; `isBeside` says that it is in the row.
  private func found(
    _ wanted: Character, _ own: Character, isBeside: Bool, _ sum: ([(Int, Int)]) -> Double
  ) -> Double {
    let center = sum([(0, 0)])
    let (left, up) = ([(-1, 0), (1, 0)], [(0, -1), (0, 1)])
    let corners = [(-1, -1), (1, -1), (-1, 1), (1, 1)]
    let (farLeft, farUp) = ([(-2, 0), (2, 0)], [(0, -2), (0, 2)])
    if wanted == own { return center }
    if method == .bilinear {
      if wanted == "G" { return sum(left + up) / 4 }
      if own == "G" { return sum(isBeside ? left : up) / 2 }
      return sum(corners) / 4
    }
    if wanted == "G" { return (4 * center + 2 * sum(left + up) - sum(farLeft + farUp)) / 8 }
    if own != "G" { return (6 * center + 2 * sum(corners) - 1.5 * sum(farLeft + farUp)) / 8 }
    let (along, across) = isBeside ? (farLeft, farUp) : (farUp, farLeft)
    let nearest = sum(isBeside ? left : up)
    return (5 * center + 4 * nearest - sum(along) - sum(corners) + 0.5 * sum(across)) / 8
  }
}
