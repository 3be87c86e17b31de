import SprocketCore

/// Four histograms of 256 counts, one behind the other.
///
/// Neighbouring pixels are mostly alike, and a count that was stored a cycle ago must be forwarded
/// before it can be incremented; with a table per pixel of four, it rarely is the same count.
typealias LevelTables = InlineArray<1024, UInt32>

/// Counts the levels of one row.
///
/// A count stays below 2^32 for pictures of less than 2^32 pixels. No check is left in the loop
/// but the row's: `UInt8` plus 768 is below 1024.
func countLevels(of row: Span<UInt8>, into tables: inout LevelTables) {
  let whole = row.count & ~3
  var x = 0
  while x < whole {
    tables[Int(row[x])] &+= 1
    tables[256 &+ Int(row[x &+ 1])] &+= 1
    tables[512 &+ Int(row[x &+ 2])] &+= 1
    tables[768 &+ Int(row[x &+ 3])] &+= 1
    x &+= 4
  }
  while x < row.count {
    tables[Int(row[x])] &+= 1
    x &+= 1
  }
}

/// The four histograms as one.
func merged(_ tables: LevelTables) -> LevelCounts {
  var counts = LevelCounts(repeating: 0)
  for level in 0..<256 {
    counts[level] =
      tables[level] &+ tables[256 &+ level] &+ tables[512 &+ level] &+ tables[768 &+ level]
  }
  return counts
}
