/// The Laplacian of one row but its first and last pixel: the four neighbours minus four times the
/// pixel, -1020 to 1020.
///
/// `result` has two elements fewer than each of the rows. Laplacians and their moments are two
/// loops, because in one the compiler widens to 32 bits too early.
func laplacian(
  above: Span<UInt8>, row: Span<UInt8>, below: Span<UInt8>, into result: inout MutableSpan<Int16>
) {
  let count = result.count
  let north = above.extracting(1...count)
  let south = below.extracting(1...count)
  let west = row.extracting(0..<count)
  let center = row.extracting(1...count)
  let east = row.extracting(2..<count &+ 2)
  for x in 0..<count {
    let sides = Int16(west[x]) &+ Int16(east[x])
    result[x] = Int16(north[x]) &+ Int16(south[x]) &+ sides &- 4 &* Int16(center[x])
  }
}

/// Sum and sum of squares of `values`, each -1020 to 1020.
///
/// In 32 bits for 4096 values at a time: their sum is at most 4,177,920, and that of their squares
/// 4,261,478,400, below 2^32. It is built up as `Int32`, wraps, and is read as what it is.
func moments(of values: Span<Int16>) -> (sum: Int64, squares: UInt64) {
  var total: (sum: Int64, squares: UInt64) = (0, 0)
  var start = 0
  while start < values.count {
    let block = values.extracting(start..<min(start &+ 4096, values.count))
    var sum: Int32 = 0
    var squares: Int32 = 0
    for x in 0..<block.count {
      sum &+= Int32(block[x])
      squares &+= Int32(block[x]) &* Int32(block[x])
    }
    total.sum += Int64(sum)
    total.squares += UInt64(UInt32(bitPattern: squares))
    start &+= 4096
  }
  return total
}

/// (count * squares - sum^2) / count^2, exact up to the division.
func variance(sum: Int64, squares: UInt64, count: Int) -> Double {
  let numerator = Int128(count) * Int128(squares) - Int128(sum) * Int128(sum)
  return Double(numerator) / (Double(count) * Double(count))
}
