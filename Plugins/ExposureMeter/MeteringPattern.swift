import Glibc
import SprocketCore

/// Pixels of a picture.
struct Rectangle: Equatable {
  var columns: Range<Int>
  var rows: Range<Int>
}

/// A part of the picture whose mean counts with one weight.
struct MeteringZone: Equatable {
  var parts: [Rectangle]
  var weight: Double
}

/// Where a picture is metered: zones that cover it, each pixel in one of them.
struct MeteringPattern: Equatable {
  var zones: [MeteringZone]
  /// What is metered in full, besides, and alone.
  var spot: Rectangle?

  /// The middle's share, and its sides: "75 % weight given to the centre", as of Nikon's F3 and
  /// most cameras since; the rest has the rest.
  static let centerWeight = 0.75
  static let center = Region(x: 0.25, y: 0.25, width: 0.5, height: 0.5)

  /// Sides of the spot: 2.56 % of the picture. Cameras take 1.5 % (Nikon D780) to 2.5 % (D500).
  static let spotSide = 0.16

  /// Zones in each direction: odd, so that one is in the middle.
  static let zonesAcross = 9

  init(_ mode: MeteringMode, around point: Point, width: Int, height: Int) {
    let whole = Rectangle(columns: 0..<width, rows: 0..<height)
    switch mode {
    case .average, .highlights: zones = [MeteringZone(parts: [whole], weight: 1)]
    case .center: zones = Self.center(width: width, height: height)
    case .zones: zones = Self.grid(width: width, height: height)
    case .spot:
      zones = [MeteringZone(parts: [whole], weight: 0)]
      spot = Self.spot(around: point, width: width, height: height)
    }
  }

  /// The spot, moved inwards where the point is close to an edge.
  static func spot(around point: Point, width: Int, height: Int) -> Rectangle {
    func start(_ middle: Double) -> Double { min(max(middle - spotSide / 2, 0), 1 - spotSide) }
    let region = Region(x: start(point.x), y: start(point.y), width: spotSide, height: spotSide)
    let (columns, rows) = region.pixels(width: width, height: height)
    return Rectangle(columns: columns, rows: rows)
  }

  /// The middle, and what is around it.
  static func center(width: Int, height: Int) -> [MeteringZone] {
    let (columns, rows) = center.pixels(width: width, height: height)
    let around = [
      Rectangle(columns: 0..<width, rows: 0..<rows.lowerBound),
      Rectangle(columns: 0..<columns.lowerBound, rows: rows),
      Rectangle(columns: columns.upperBound..<width, rows: rows),
      Rectangle(columns: 0..<width, rows: rows.upperBound..<height),
    ]
    return [
      MeteringZone(parts: [Rectangle(columns: columns, rows: rows)], weight: centerWeight),
      MeteringZone(parts: around, weight: 1 - centerWeight),
    ]
  }

  /// 9 by 9 zones. A zone at `d` from the middle, the edges being at 1, has the weight 1 - 0.75 d, at
  /// least 0: 4 in the middle, 1 at the edges, 0 in the corners.
  ///
  /// That is how the 15 by 15 weights `centre-weighted` of Raspberry Pi's cameras fall off
  /// (libcamera, src/ipa/rpi/pisp/data/imx219.json).
  static func grid(width: Int, height: Int) -> [MeteringZone] {
    let count = zonesAcross
    func edges(_ index: Int, _ length: Int) -> Range<Int> {
      length * index / count..<length * (index + 1) / count
    }
    func offset(_ index: Int) -> Double { Double(2 * index + 1 - count) / Double(count) }
    return (0..<count * count).map { index in
      let (row, column) = index.quotientAndRemainder(dividingBy: count)
      let distance = hypot(offset(row), offset(column))
      let pixels = Rectangle(columns: edges(column, width), rows: edges(row, height))
      return MeteringZone(parts: [pixels], weight: max(0, 1 - 0.75 * distance))
    }
  }
}

/// Which part of the picture decides.
enum MeteringMode: String, CaseIterable, SettingValue {
  case average, center, spot, zones, highlights
}
