import SprocketCore

/// Moves the samples of a plane. Planes on their side are moved in blocks, since a column of the source is a
/// cache line for each of its samples.
struct PlaneMover {
  private let isometry: Isometry

  /// Samples along a side of a block: as many bytes as a cache line has. Larger: more lines of source and
  /// target at once than the first cache holds.
  private static let side = 64

  init(_ isometry: Isometry) { self.isometry = isometry }

  func move(_ plane: Int, of picture: inout ImageEditor) {
    switch (isometry.swaps, picture.format.isDeep) {
    case (false, false): moveRows(plane, &picture)
    case (false, true): moveWordRows(plane, &picture)
    case (true, false): transpose(plane, &picture)
    case (true, true): transposeWords(plane, &picture)
    }
  }

  private func moveRows(_ plane: Int, _ picture: inout ImageEditor) {
    let source = picture.source[plane: plane]
    for y in 0..<source.rows {
      let from = source[row: isometry.flipsRows ? source.rows &- 1 &- y : y]
      var row = picture.row(y, plane: plane)
      if isometry.flipsColumns { reverse(from, into: &row) } else { copy(from, into: &row) }
    }
  }

  private func moveWordRows(_ plane: Int, _ picture: inout ImageEditor) {
    let source = picture.source[plane: plane]
    for y in 0..<source.rows {
      let from = source[row16: isometry.flipsRows ? source.rows &- 1 &- y : y]
      var row = picture.row16(y, plane: plane)
      if isometry.flipsColumns { reverse(from, into: &row) } else { copy(from, into: &row) }
    }
  }

  private func transpose(_ plane: Int, _ picture: inout ImageEditor) {
    let source = picture.source[plane: plane]
    for v in stride(from: 0, to: source.rows, by: Self.side) {
      for u in stride(from: 0, to: source.bytesPerRow, by: Self.side) {
        let rows = v..<min(v + Self.side, source.rows)
        let columns = u..<min(u + Self.side, source.bytesPerRow)
        for y in stride(from: rows.lowerBound, to: rows.upperBound, by: 16) {
          for x in stride(from: columns.lowerBound, to: columns.upperBound, by: 16) {
            if y &+ 16 <= rows.upperBound, x &+ 16 <= columns.upperBound {
              transposeSquare(source, x, y, plane, &picture)
            } else {
              transposeRest(
                source, x..<min(x &+ 16, columns.upperBound), y..<min(y &+ 16, rows.upperBound),
                plane,
                &picture)
            }
          }
        }
      }
    }
  }

  /// 16 columns from `u` and 16 rows from `v`.
  private func transposeSquare(
    _ source: borrowing Plane, _ u: Int, _ v: Int, _ plane: Int, _ picture: inout ImageEditor
  ) {
    var square = ByteSquare(repeating: Lanes())
    for index in 0..<16 {
      let y = isometry.flipsRows ? v &+ 15 &- index : v &+ index
      square[index] = lanes(of: source[row: y], at: u)
    }
    exchangeRowsAndColumns(&square)
    let place = isometry.flipsRows ? source.rows &- 16 &- v : v
    for index in 0..<16 {
      let x = u &+ index
      var row = picture.row(
        isometry.flipsColumns ? source.bytesPerRow &- 1 &- x : x, plane: plane)
      store(square[index], into: &row, at: place)
    }
  }

  /// At the edges, byte by byte.
  private func transposeRest(
    _ source: borrowing Plane, _ columns: Range<Int>, _ rows: Range<Int>, _ plane: Int,
    _ picture: inout ImageEditor
  ) {
    for x in columns {
      var row = picture.row(
        isometry.flipsColumns ? source.bytesPerRow &- 1 &- x : x, plane: plane)
      for y in rows { row[isometry.flipsRows ? source.rows &- 1 &- y : y] = source[row: y][x] }
    }
  }

  /// Word by word: such pictures are rare.
  private func transposeWords(_ plane: Int, _ picture: inout ImageEditor) {
    let source = picture.source[plane: plane]
    let (width, height) = (source.bytesPerRow / 2, source.rows)
    for v in stride(from: 0, to: height, by: Self.side) {
      for u in stride(from: 0, to: width, by: Self.side) {
        for x in u..<min(u + Self.side, width) {
          var row = picture.row16(isometry.flipsColumns ? width &- 1 &- x : x, plane: plane)
          for y in v..<min(v + Self.side, height) {
            row[isometry.flipsRows ? height &- 1 &- y : y] = source[row16: y][x]
          }
        }
      }
    }
  }
}

private func copy(_ source: Span<UInt8>, into target: inout MutableSpan<UInt8>) {
  precondition(source.count == target.count)
  for x in 0..<source.count { target[x] = source[x] }
}

private func copy(_ source: Span<UInt16>, into target: inout MutableSpan<UInt16>) {
  precondition(source.count == target.count)
  for x in 0..<source.count { target[x] = source[x] }
}

private func reverse(_ source: Span<UInt8>, into target: inout MutableSpan<UInt8>) {
  precondition(source.count == target.count)
  for x in 0..<source.count { target[x] = source[source.count &- 1 &- x] }
}

private func reverse(_ source: Span<UInt16>, into target: inout MutableSpan<UInt16>) {
  precondition(source.count == target.count)
  for x in 0..<source.count { target[x] = source[source.count &- 1 &- x] }
}
