import Glibc
public import SprocketCore

/// Pixels of a picture.
struct Rectangle: Equatable {
  var columns: Range<Int>
  var rows: Range<Int>
}

/// Rows of a picture in which zones lie side by side.
struct MeteringBand: Equatable {
  var rows: Range<Int>
  var parts: [(columns: Range<Int>, zone: Int)]

  static func == (one: Self, other: Self) -> Bool {
    one.rows == other.rows && one.parts.elementsEqual(other.parts, by: ==)
  }
}

/// Where a picture is metered: zones that cover it, each pixel in one of them.
struct MeteringPattern: Equatable {
  /// From top to bottom.
  var bands: [MeteringBand]
  /// Of each zone's mean.
  var weights: [Double]
  /// What is metered in full, besides, and alone.
  var spot: Rectangle?

  /// Weight of the picture's middle, 0 to 1, and its place; the rest has what is around it. Larger: bright
  /// skies count less, and so does everything beside the middle. 75 % is the weight of a circle in the middle
  /// in Nikon's D780 (its manual, Technical Notes, Specifications: Metering).
  static let centerWeight = 0.75
  static let center = Region(x: 0.25, y: 0.25, width: 0.5, height: 0.5)

  /// Sides of the spot as a fraction of the picture's. Larger: steadier, less selective. It is 2.56 % of the
  /// picture; cameras have 1.5 % (Nikon D780) to 2.5 % (D500).
  static let spotSide = 0.16

  /// Zones in each direction. Larger: finer weights, noisier zones. Odd, so that one is in the middle.
  static let zonesAcross = 9

  init(_ mode: MeteringMode, around point: Point, width: Int, height: Int) {
    bands = [MeteringBand(rows: 0..<height, parts: [(0..<width, 0)])]
    weights = [1]
    switch mode {
    case .center: divideIntoCenterAndRest(width: width, height: height)
    case .zones where width * height > 1: divideIntoGrid(width: width, height: height)
    // A single pixel would lie in a corner, which has no weight.
    case .average, .highlights, .zones: break
    case .spot: spot = Self.spot(around: point, width: width, height: height)
    }
  }

  /// The spot, moved inwards where the point is close to an edge.
  static func spot(around point: Point, width: Int, height: Int) -> Rectangle {
    func start(_ middle: Double) -> Double { min(max(middle - spotSide / 2, 0), 1 - spotSide) }
    let region = Region(x: start(point.x), y: start(point.y), width: spotSide, height: spotSide)
    let (columns, rows) = region.pixels(width: width, height: height)
    return Rectangle(columns: columns, rows: rows)
  }

  /// Zone 0 is the middle, zone 1 what is around it.
  mutating func divideIntoCenterAndRest(width: Int, height: Int) {
    let (columns, rows) = Self.center.pixels(width: width, height: height)
    let besides = [(0..<columns.lowerBound, 1), (columns, 0), (columns.upperBound..<width, 1)]
    bands = [
      MeteringBand(rows: 0..<rows.lowerBound, parts: [(0..<width, 1)]),
      MeteringBand(rows: rows, parts: besides),
      MeteringBand(rows: rows.upperBound..<height, parts: [(0..<width, 1)]),
    ]
    weights = [Self.centerWeight, 1 - Self.centerWeight]
  }

  /// 9 by 9 zones. A zone whose middle is `d` from the picture's, that of the zones along the edges
  /// being 1, has the weight 1 - 0.75 d, at least 0: 1 in the middle, 1/4 in the middle of an edge, 0
  /// in the corners.
  ///
  /// That is how the 15 by 15 weights `centre-weighted` of Raspberry Pi's cameras fall off
  /// (libcamera, src/ipa/rpi/pisp/data/imx219.json).
  mutating func divideIntoGrid(width: Int, height: Int) {
    let count = Self.zonesAcross
    func edges(_ index: Int, _ length: Int) -> Range<Int> {
      length * index / count..<length * (index + 1) / count
    }
    func offset(_ index: Int) -> Double { Double(2 * index + 1 - count) / Double(count - 1) }
    bands = (0..<count).map { row in
      let parts = (0..<count).map { (edges($0, width), row * count + $0) }
      return MeteringBand(rows: edges(row, height), parts: parts)
    }
    weights = (0..<count * count).map { zone in
      let distance = hypot(offset(zone % count), offset(zone / count))
      return max(0, 1 - 0.75 * distance)
    }
  }
}

/// Which part of the picture decides.
public enum MeteringMode: String, CaseIterable, SettingValue {
  case average, center, spot, zones, highlights
}
