import SprocketCore

/// Moves the samples of a plane. Planes on their side are moved in blocks, since a column of the source is a
/// cache line for each of its samples.
struct PlaneMover {
  private let isometry: Isometry
  private var bytes: [UInt8]
  private var words: [UInt16]

  /// Samples along a side of a block. Larger: longer runs along rows. A block of words, and a cache line or
  /// two of each of its rows in the source, take half of 32 KB of cache.
  fileprivate static let side = 64

  init(_ isometry: Isometry) {
    self.isometry = isometry
    let count = isometry.swaps ? Self.side * Self.side : 0
    bytes = Array(repeating: 0, count: count)
    words = Array(repeating: 0, count: count)
  }

  mutating func move(_ plane: Int, of picture: inout ImageEditor) {
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

  /// The source's block of up to `side` columns from `u` and rows from `v` is transposed into `bytes`, whose
  /// rows become parts of rows of the target.
  private mutating func transpose(_ plane: Int, _ picture: inout ImageEditor) {
    let source = picture.source[plane: plane]
    let (width, height) = (source.bytesPerRow, source.rows)
    let (flipsColumns, flipsRows) = (isometry.flipsColumns, isometry.flipsRows)
    for v in stride(from: 0, to: height, by: Self.side) {
      let rows = v..<min(v + Self.side, height)
      for u in stride(from: 0, to: width, by: Self.side) {
        let columns = u..<min(u + Self.side, width)
        var block = bytes.mutableSpan
        for y in rows { scatter(source[row: y].extracting(columns), to: y &- v, of: &block) }
        let place = flipsRows ? height &- rows.upperBound..<height &- v : rows
        for x in columns {
          var row = picture.row(flipsColumns ? width &- 1 &- x : x, plane: plane)
          var part = row._mutatingExtracting(place)
          let start = (x &- u) &* Self.side
          let line = block.span.extracting(start..<start &+ rows.count)
          if flipsRows { reverse(line, into: &part) } else { copy(line, into: &part) }
        }
      }
    }
  }

  private mutating func transposeWords(_ plane: Int, _ picture: inout ImageEditor) {
    let source = picture.source[plane: plane]
    let (width, height) = (source.bytesPerRow / 2, source.rows)
    let (flipsColumns, flipsRows) = (isometry.flipsColumns, isometry.flipsRows)
    for v in stride(from: 0, to: height, by: Self.side) {
      let rows = v..<min(v + Self.side, height)
      for u in stride(from: 0, to: width, by: Self.side) {
        let columns = u..<min(u + Self.side, width)
        var block = words.mutableSpan
        for y in rows { scatter(source[row16: y].extracting(columns), to: y &- v, of: &block) }
        let place = flipsRows ? height &- rows.upperBound..<height &- v : rows
        for x in columns {
          var row = picture.row16(flipsColumns ? width &- 1 &- x : x, plane: plane)
          var part = row._mutatingExtracting(place)
          let start = (x &- u) &* Self.side
          let line = block.span.extracting(start..<start &+ rows.count)
          if flipsRows { reverse(line, into: &part) } else { copy(line, into: &part) }
        }
      }
    }
  }
}

/// A row becomes a column of a block.
private func scatter(_ row: Span<UInt8>, to column: Int, of block: inout MutableSpan<UInt8>) {
  precondition((row.count &- 1) &* PlaneMover.side &+ column < block.count)
  for x in 0..<row.count { block[x &* PlaneMover.side &+ column] = row[x] }
}

private func scatter(_ row: Span<UInt16>, to column: Int, of block: inout MutableSpan<UInt16>) {
  precondition((row.count &- 1) &* PlaneMover.side &+ column < block.count)
  for x in 0..<row.count { block[x &* PlaneMover.side &+ column] = row[x] }
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
