import SprocketCore

/// One of the eight ways to lay a picture on itself or on its side. The pixel (x, y) of the new picture is
/// that of the old one at (y, x) where it `swaps`, else (x, y), counted from the other end where it `flips`.
struct Isometry: Equatable {
  var swaps = false
  var flipsColumns = false
  var flipsRows = false

  static let identity = Isometry()

  init(swaps: Bool = false, flipsColumns: Bool = false, flipsRows: Bool = false) {
    (self.swaps, self.flipsColumns, self.flipsRows) = (swaps, flipsColumns, flipsRows)
  }

  init(_ turn: Rotate.Turn) {
    switch turn {
    case .none: self.init()
    case .quarter: self.init(swaps: true, flipsRows: true)
    case .half: self.init(flipsColumns: true, flipsRows: true)
    case .threeQuarters: self.init(swaps: true, flipsColumns: true)
    }
  }

  init(_ mirror: Rotate.Mirror) {
    self.init(flipsColumns: mirror == .horizontal, flipsRows: mirror == .vertical)
  }

  /// What has to be done to a picture of that orientation.
  init(_ orientation: Orientation) {
    switch orientation {
    case .upright: self.init()
    case .mirrored: self.init(flipsColumns: true)
    case .halfTurn: self.init(flipsColumns: true, flipsRows: true)
    case .flipped: self.init(flipsRows: true)
    case .transposed: self.init(swaps: true)
    case .quarterTurn: self.init(.quarter)
    case .transversed: self.init(swaps: true, flipsColumns: true, flipsRows: true)
    case .threeQuarterTurn: self.init(.threeQuarters)
    }
  }

  /// The orientation of a picture to which this has to be done.
  var orientation: Orientation {
    Orientation.allCases.first { Isometry($0) == self } ?? .upright
  }

  /// Both, this one first.
  func followed(by next: Isometry) -> Isometry {
    // A pixel of the last picture is found in the middle one by `next`, in the first by this. Where this
    // swaps, the first one's columns are the middle one's rows.
    let (columns, rows) =
      swaps ? (next.flipsRows, next.flipsColumns) : (next.flipsColumns, next.flipsRows)
    return Isometry(
      swaps: swaps != next.swaps, flipsColumns: flipsColumns != columns,
      flipsRows: flipsRows != rows)
  }

  var inverse: Isometry {
    swaps ? Isometry(swaps: true, flipsColumns: flipsRows, flipsRows: flipsColumns) : self
  }

  /// In pixels; the sides are those of the old picture.
  func sourceFromPicture(width: Int, height: Int) -> Projection {
    let (x, y) = (flipsColumns ? -1.0 : 1, flipsRows ? -1.0 : 1)
    let (left, top) = (flipsColumns ? Double(width - 1) : 0, flipsRows ? Double(height - 1) : 0)
    return Projection(swaps ? [0, x, left, y, 0, top, 0, 0, 1] : [x, 0, left, 0, y, top, 0, 0, 1])
  }
}
