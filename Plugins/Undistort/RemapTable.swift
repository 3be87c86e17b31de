import SprocketCore

/// Where the samples of a plane without distortion come from, and how they are made: of the four around that
/// place, by distance. What lies beyond the source is black.
struct RemapTable {
  /// By sample, row by row: columns and rows of the source, in 1024ths.
  private let places: [SIMD2<Int32>]
  private let border: UInt16
  private let width: Int

  /// Bits of a place behind the point. Larger: smaller errors of place, here a 2048th of a sample at most.
  /// The kernels have the number 1024 in them.
  private static let bits = 10
  /// Beyond any plane, in samples.
  private static let farthest = 1e6

  /// What a table takes.
  static func byteCount(_ plane: Int, _ format: FrameFormat) -> Int {
    let image = format.image ?? .grey
    let size = image.plane(plane, width: format.width, height: format.height)
    let samples = size.bytesPerRow / (image.isDeep ? 2 : 1) * size.rows
    return samples * MemoryLayout<SIMD2<Int32>>.stride
  }

  /// For plane `plane` of pictures of `format`. Costs up to 100 ns for each sample.
  init(_ plane: Int, _ lens: Lens, _ format: FrameFormat) {
    let image = format.image ?? .grey
    let grid = format.sampleGrid(plane: plane)
    let size = image.plane(plane, width: format.width, height: format.height)
    width = size.bytesPerRow / (image.isDeep ? 2 : 1)
    border = format.black(plane: plane)
    var places: [SIMD2<Int32>] = []
    places.reserveCapacity(width * size.rows)
    for row in 0..<size.rows {
      for column in 0..<width {
        let from = lens.distort(
          grid.left + Double(column * grid.columns), grid.top + Double(row * grid.rows))
        places.append(
          SIMD2(
            Self.place((from.x - grid.left) / Double(grid.columns)),
            Self.place((from.y - grid.top) / Double(grid.rows))))
      }
    }
    self.places = places
  }

  private static func place(_ position: Double) -> Int32 {
    guard position.isFinite else { return Int32(-farthest) << Int32(bits) }
    let limited = min(max(position, -farthest), farthest)
    return Int32((limited * Double(1 << bits)).rounded())
  }

  /// Fills in a plane from the same of `picture.source`.
  func remap(_ plane: Int, of picture: inout ImageEditor) {
    let source = picture.source[plane: plane]
    let isDeep = picture.format.isDeep
    for y in 0..<picture.rows(plane: plane) {
      let places = places.span.extracting(y &* width..<(y &+ 1) &* width)
      if isDeep {
        var row = picture.row16(y, plane: plane)
        Self.remap(&row, places, source, border: Int(border))
      } else {
        var row = picture.row(y, plane: plane)
        Self.remap(&row, places, source, border: Int(border))
      }
    }
  }

  private static func remap(
    _ row: inout MutableSpan<UInt8>, _ places: Span<SIMD2<Int32>>, _ source: borrowing Plane,
    border: Int
  ) {
    precondition(row.count == places.count)
    let (lastColumn, lastRow) = (source.bytesPerRow &- 1, source.rows &- 1)
    for x in 0..<row.count {
      let place = places[x]
      let (column, line) = (Int(place.x >> 10), Int(place.y >> 10))
      let (right, below) = (Int(place.x & 1023), Int(place.y & 1023))
      let mean: Int
      if column >= 0, column < lastColumn, line >= 0, line < lastRow {
        let (above, under) = (source[row: line], source[row: line &+ 1])
        mean = bilinear(
          Int(above[column]), Int(above[column &+ 1]), Int(under[column]),
          Int(under[column &+ 1]), right, below)
      } else {
        mean = bilinear(
          sample(source, column, line, border), sample(source, column &+ 1, line, border),
          sample(source, column, line &+ 1, border), sample(source, column &+ 1, line &+ 1, border),
          right, below)
      }
      row[x] = UInt8(truncatingIfNeeded: mean)
    }
  }

  private static func remap(
    _ row: inout MutableSpan<UInt16>, _ places: Span<SIMD2<Int32>>, _ source: borrowing Plane,
    border: Int
  ) {
    precondition(row.count == places.count)
    let (lastColumn, lastRow) = (source.bytesPerRow / 2 &- 1, source.rows &- 1)
    for x in 0..<row.count {
      let place = places[x]
      let (column, line) = (Int(place.x >> 10), Int(place.y >> 10))
      let (right, below) = (Int(place.x & 1023), Int(place.y & 1023))
      let mean: Int
      if column >= 0, column < lastColumn, line >= 0, line < lastRow {
        let (above, under) = (source[row16: line], source[row16: line &+ 1])
        mean = bilinear(
          Int(above[column]), Int(above[column &+ 1]), Int(under[column]),
          Int(under[column &+ 1]), right, below)
      } else {
        mean = bilinear(
          word(source, column, line, border), word(source, column &+ 1, line, border),
          word(source, column, line &+ 1, border), word(source, column &+ 1, line &+ 1, border),
          right, below)
      }
      row[x] = UInt16(truncatingIfNeeded: mean)
    }
  }

  /// The mean of four neighbours, upper row first, rounded. `right` and `below` are the place between them
  /// in 1/1024; with samples of 16 bits the sums stay below 2^37.
  @inline(__always)
  private static func bilinear(
    _ a: Int, _ b: Int, _ c: Int, _ d: Int, _ right: Int, _ below: Int
  ) -> Int {
    let upper = a &* (1024 &- right) &+ b &* right
    let lower = c &* (1024 &- right) &+ d &* right
    return (upper &* (1024 &- below) &+ lower &* below &+ 1 << 19) >> 20
  }

  private static func sample(
    _ source: borrowing Plane, _ column: Int, _ line: Int, _ border: Int
  ) -> Int {
    let isInside = column >= 0 && column < source.bytesPerRow && line >= 0 && line < source.rows
    return isInside ? Int(source[row: line][column]) : border
  }

  private static func word(
    _ source: borrowing Plane, _ column: Int, _ line: Int, _ border: Int
  ) -> Int {
    let isInside = column >= 0 && column < source.bytesPerRow / 2 && line >= 0 && line < source.rows
    return isInside ? Int(source[row16: line][column]) : border
  }
}

extension FrameFormat {
  /// The sample of a plane that is black: the least luma of the range, and neutral chroma.
  fileprivate func black(plane: Int) -> UInt16 {
    let bits = image?.bitsPerSample ?? 8
    guard plane == 0 else { return 1 << (bits - 1) }
    return color.range == .full ? 0 : 16 << (bits - 8)
  }
}
