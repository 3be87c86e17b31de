internal import SprocketCore

/// Which samples moved, from those that differ: single ones are noise or rain, and are left out; the rest is
/// joined to regions. Pure; all memory is taken by `init`.
struct ChangedArea {
  /// Samples that must differ in the 3x3 around one that moves, itself included. Larger: less noise, and
  /// small or thin things are missed. 3 keep a line that is one sample wide.
  private static let leastNeighbours: UInt8 = 3

  let width: Int
  let height: Int
  /// 1 for each sample that moves, else 0.
  private(set) var changed: [UInt8]
  private(set) var share = 0.0
  private(set) var regions: UInt32 = 0
  /// The box around the region with most samples; empty where nothing moves.
  private(set) var largest = (columns: 0..<0, rows: 0..<0)
  /// Share of each of 4x4 cells, row by row.
  private(set) var grid = GridValues(repeating: 0)
  /// Samples of the region that are still to be visited; 1 in `visited` was queued.
  private var queue: [Int]
  private var visited: [UInt8]

  init(width: Int, height: Int) {
    (self.width, self.height) = (width, height)
    changed = [UInt8](repeating: 0, count: width * height)
    visited = [UInt8](repeating: 0, count: width * height)
    queue = [Int](repeating: 0, count: width * height)
  }

  /// `differs` has a 1 for each sample that differs, row by row.
  mutating func find(_ differs: [UInt8]) {
    var count = 0
    for y in 0..<height {
      for x in 0..<width {
        let index = y * width + x
        changed[index] =
          differs[index] & (neighbours(differs, x, y) >= Self.leastNeighbours ? 1 : 0)
        count += Int(changed[index])
        visited[index] = 0
      }
    }
    share = Double(count) / Double(max(1, changed.count))
    fillGrid()
    (regions, largest) = (0, (0..<0, 0..<0))
    if count > 0 { findRegions() }
  }

  private func neighbours(_ differs: [UInt8], _ x: Int, _ y: Int) -> UInt8 {
    var sum: UInt8 = 0
    for row in max(y - 1, 0)...min(y + 1, height - 1) {
      for column in max(x - 1, 0)...min(x + 1, width - 1) { sum += differs[row * width + column] }
    }
    return sum
  }

  private mutating func fillGrid() {
    // A local value: writing an element of a property allocates in a debug build.
    var grid = grid
    for cell in 0..<16 {
      let (left, right) = (cell % 4 * width / 4, (cell % 4 + 1) * width / 4)
      let (top, bottom) = (cell / 4 * height / 4, (cell / 4 + 1) * height / 4)
      var count = 0
      for y in top..<bottom {
        for x in left..<right { count += Int(changed[y * width + x]) }
      }
      grid[cell] = Double(count) / Double(max(1, (right - left) * (bottom - top)))
    }
    self.grid = grid
  }

  private mutating func findRegions() {
    var most = 0
    for start in changed.indices where changed[start] != 0 && visited[start] == 0 {
      regions += 1
      let (size, columns, rows) = region(from: start)
      if size > most { (most, largest) = (size, (columns, rows)) }
    }
  }

  /// Visits the samples that touch each other, diagonally too (breadth first).
  private mutating func region(
    from start: Int
  ) -> (size: Int, columns: Range<Int>, rows: Range<Int>) {
    var (left, right, top, bottom) = (width, 0, height, 0)
    queue[0] = start
    visited[start] = 1
    var (next, end) = (0, 1)
    while next < end {
      let (x, y) = (queue[next] % width, queue[next] / width)
      next += 1
      (left, right) = (min(left, x), max(right, x))
      (top, bottom) = (min(top, y), max(bottom, y))
      for row in max(y - 1, 0)...min(y + 1, height - 1) {
        for column in max(x - 1, 0)...min(x + 1, width - 1) {
          let index = row * width + column
          guard changed[index] != 0, visited[index] == 0 else { continue }
          visited[index] = 1
          queue[end] = index
          end += 1
        }
      }
    }
    return (end, left..<right + 1, top..<bottom + 1)
  }
}
