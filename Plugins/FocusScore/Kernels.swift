/// The second difference down the columns: above - 2 row + below, -510 to 510.
///
/// All four are of one length.
func secondDifference(
  above: Span<UInt8>, row: Span<UInt8>, below: Span<UInt8>, into result: inout MutableSpan<Int16>
) {
  for x in 0..<result.count {
    result[x] = Int16(above[x]) &+ Int16(below[x]) &- 2 &* Int16(row[x])
  }
}

/// The Laplacian of a row, but of its first and last pixel: the four neighbours minus four times the
/// pixel, -1020 to 1020.
///
/// `vertical` is the row's `secondDifference`; `result` has two elements fewer.
func laplacian(
  _ vertical: Span<Int16>, row: Span<UInt8>, into result: inout MutableSpan<Int16>
) {
  let count = result.count
  let down = vertical.extracting(1...count)
  let west = row.extracting(0..<count)
  let center = row.extracting(1...count)
  let east = row.extracting(2..<count &+ 2)
  for x in 0..<count {
    result[x] = down[x] &+ Int16(west[x]) &+ Int16(east[x]) &- 2 &* Int16(center[x])
  }
}

/// The second difference along the row of the one down the columns, -2040 to 2040: what Immerkær's
/// mask makes of a row, but of its first and last pixel. `result` has two elements fewer.
///
///      1 -2  1
///     -2  4 -2
///      1 -2  1
func noiseResponse(_ vertical: Span<Int16>, into result: inout MutableSpan<Int16>) {
  let count = result.count
  let west = vertical.extracting(0..<count)
  let center = vertical.extracting(1...count)
  let east = vertical.extracting(2..<count &+ 2)
  for x in 0..<count { result[x] = west[x] &+ east[x] &- 2 &* center[x] }
}

/// Sum of squares of `values`, each -2040 to 2040.
///
/// In 32 bits for 1024 values at a time: theirs is at most 4,261,478,400, below 2^32. It is built up
/// as `Int32`, wraps, and is read as what it is. A loop of its own over 16-bit numbers, because in
/// one with their making the compiler widens to 32 bits too early.
func energy(of values: Span<Int16>) -> UInt64 {
  var total: UInt64 = 0
  var start = 0
  while start < values.count {
    let block = values.extracting(start..<min(start &+ 1024, values.count))
    var squares: Int32 = 0
    for x in 0..<block.count { squares &+= Int32(block[x]) &* Int32(block[x]) }
    total &+= UInt64(UInt32(bitPattern: squares))
    start &+= 1024
  }
  return total
}

/// Sum of `values`, each -2040 to 2040: of 2^20 it still fits 32 bits.
func sum(of values: Span<Int16>) -> Int64 {
  precondition(values.count <= 1 << 20, "split rows of over 2^20 pixels")
  var sum: Int32 = 0
  for x in 0..<values.count { sum &+= Int32(values[x]) }
  return Int64(sum)
}

/// Sum of the squares of the differences of two rows, pixel by pixel.
///
/// In 32 bits for 2^16 pixels at a time: that sum is at most 4,261,478,400.
func squaredDifferences(_ first: Span<UInt8>, _ second: Span<UInt8>) -> UInt64 {
  var total: UInt64 = 0
  var start = 0
  while start < first.count {
    let range = start..<min(start &+ 65_536, first.count)
    let (a, b) = (first.extracting(range), second.extracting(range))
    var squares: Int32 = 0
    for x in 0..<a.count {
      let difference = Int16(a[x]) &- Int16(b[x])
      squares &+= Int32(difference) &* Int32(difference)
    }
    total &+= UInt64(UInt32(bitPattern: squares))
    start &+= 65_536
  }
  return total
}

/// Sum of the levels of a row; of 2^24 pixels it still fits 32 bits.
func levelSum(of row: Span<UInt8>) -> UInt64 {
  precondition(row.count <= 1 << 24, "split rows of over 2^24 pixels")
  var sum: UInt32 = 0
  for x in 0..<row.count { sum &+= UInt32(row[x]) }
  return UInt64(sum)
}

/// Sobel's derivative along the row, but of its first and last pixel, -1020 to 1020; `result` has two
/// elements fewer than the rows.
func sobelAlong(
  above: Span<UInt8>, row: Span<UInt8>, below: Span<UInt8>, into result: inout MutableSpan<Int16>
) {
  let count = result.count
  let (northWest, northEast) = (above.extracting(0..<count), above.extracting(2..<count &+ 2))
  let (west, east) = (row.extracting(0..<count), row.extracting(2..<count &+ 2))
  let (southWest, southEast) = (below.extracting(0..<count), below.extracting(2..<count &+ 2))
  for x in 0..<count {
    let corners =
      Int16(northEast[x]) &- Int16(northWest[x]) &+ Int16(southEast[x]) &- Int16(southWest[x])
    result[x] = corners &+ 2 &* (Int16(east[x]) &- Int16(west[x]))
  }
}

/// Sobel's derivative down the columns, but of the first and last pixel, -1020 to 1020; `result` has
/// two elements fewer than the rows.
func sobelDown(
  above: Span<UInt8>, below: Span<UInt8>, into result: inout MutableSpan<Int16>
) {
  let count = result.count
  let (northWest, southWest) = (above.extracting(0..<count), below.extracting(0..<count))
  let (north, south) = (above.extracting(1...count), below.extracting(1...count))
  let (northEast, southEast) =
    (above.extracting(2..<count &+ 2), below.extracting(2..<count &+ 2))
  for x in 0..<count {
    let corners =
      Int16(southWest[x]) &- Int16(northWest[x]) &+ Int16(southEast[x]) &- Int16(northEast[x])
    result[x] = corners &+ 2 &* (Int16(south[x]) &- Int16(north[x]))
  }
}
