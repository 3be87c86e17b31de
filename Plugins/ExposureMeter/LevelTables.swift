import SprocketCore

/// Four histograms of 256 counts, one behind the other.
///
/// Neighbouring pixels are mostly alike, and a count that was stored a cycle ago must be forwarded
/// before it can be incremented; with a table per pixel of four, it rarely is the same count.
typealias LevelTables = InlineArray<1024, UInt32>

/// Counts the levels of one row.
///
/// A count stays below 2^32 for pictures of less than 2^32 pixels. The row is taken off piece by
/// piece, because the compiler then sees that eight pixels are there: no check is left in the loop.
func countLevels(of row: Span<UInt8>, into tables: inout LevelTables) {
  var rest = row
  while rest.count >= 8 {
    let (a, b, c, d) = (rest[0], rest[1], rest[2], rest[3])
    let (e, f, g, h) = (rest[4], rest[5], rest[6], rest[7])
    tables[Int(a)] &+= 1
    tables[256 &+ Int(b)] &+= 1
    tables[512 &+ Int(c)] &+= 1
    tables[768 &+ Int(d)] &+= 1
    tables[Int(e)] &+= 1
    tables[256 &+ Int(f)] &+= 1
    tables[512 &+ Int(g)] &+= 1
    tables[768 &+ Int(h)] &+= 1
    rest = rest.extracting(8...)
  }
  for x in 0..<rest.count { tables[Int(rest[x])] &+= 1 }
}

/// Makes `counts` the four histograms as one, and adds it to `total`.
///
/// Spans, because each element that is read of an `InlineArray` argument may cost a copy of it all.
func merge(
  _ tables: Span<UInt32>, into counts: inout MutableSpan<UInt32>,
  addingTo total: inout MutableSpan<UInt32>
) {
  let (a, b) = (tables.extracting(0..<256), tables.extracting(256..<512))
  let (c, d) = (tables.extracting(512..<768), tables.extracting(768..<1024))
  for level in 0..<256 {
    let count = a[level] &+ b[level] &+ c[level] &+ d[level]
    counts[level] = count
    total[level] &+= count
  }
}

/// The sum of 256 `values`, each as often as `counts` says.
///
/// Four sums side by side: an addition need not wait for the one before.
func weightedSum(_ counts: Span<UInt32>, _ values: Span<Double>) -> Double {
  let (counts, values) = (counts.extracting(0..<256), values.extracting(0..<256))
  var (a, b, c, d) = (0.0, 0.0, 0.0, 0.0)
  for level in stride(from: 0, to: 256, by: 4) {
    a += Double(counts[level]) * values[level]
    b += Double(counts[level + 1]) * values[level + 1]
    c += Double(counts[level + 2]) * values[level + 2]
    d += Double(counts[level + 3]) * values[level + 3]
  }
  return (a + b) + (c + d)
}

/// The sum of 256 `counts`.
func sum(_ counts: Span<UInt32>) -> Int {
  var sum: UInt64 = 0
  for level in 0..<256 { sum &+= UInt64(counts[level]) }
  return Int(sum)
}
