/// The box mean as DESIGN.md has it, for boxes that the edge may cut.
func boxMean(_ rows: [[UInt8]], by factor: Int) -> [[UInt8]] {
  let (width, height) = (rows[0].count, rows.count)
  return stride(from: 0, to: height, by: factor).map { top in
    stride(from: 0, to: width, by: factor).map { left in
      var (sum, count) = (0, 0)
      for y in top..<min(top + factor, height) {
        for x in left..<min(left + factor, width) {
          sum += Int(rows[y][x])
          count += 1
        }
      }
      return UInt8((sum + count / 2) / count)
    }
  }
}

/// The largest difference between two pictures of one size.
func largestDifference(_ a: [[UInt8]], _ b: [[UInt8]]) -> Int {
  guard a.count == b.count, a[0].count == b[0].count else { return .max }
  return zip(a, b).reduce(0) { worst, rows in
    zip(rows.0, rows.1).reduce(worst) { max($0, abs(Int($1.0) - Int($1.1))) }
  }
}
