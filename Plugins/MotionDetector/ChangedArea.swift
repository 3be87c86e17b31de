internal import SprocketCore

/// Finds the moving samples among those that differ, and joins them to regions. Single samples are noise or
/// rain and are removed. Pure; all memory is allocated by `init`.
struct ChangedArea {
  /// Least number of differing samples in the 3x3 around a moving one, itself included. Larger: less noise
  /// remains, small or thin things are missed. 3 keeps a line that is one sample wide.
  private static let leastNeighbours = 3

  let width: Int
  let height: Int
  /// 0 for samples that do not move.
  private(set) var changed: [UInt8]
  private(set) var share = 0.0
  private(set) var regions: UInt32 = 0
  /// Bounding box of the region with the most samples; empty if nothing moves.
  private(set) var largest = (columns: 0..<0, rows: 0..<0)
  /// Share of moving samples in each of 4x4 cells, row by row.
  private(set) var grid = GridValues(repeating: 0)
  /// Indices of a region's samples that wait to be visited. In `changed` they have the value `queued`.
  private var queue: [Int]
  private static let queued: UInt8 = 2

  init(width: Int, height: Int) {
    (self.width, self.height) = (width, height)
    changed = [UInt8](repeating: 0, count: width * height)
    queue = [Int](repeating: 0, count: width * height)
  }

  /// `differs`: 1 for each sample that differs, row by row.
  mutating func find(_ differs: [UInt8]) {
    var count = 0
    for y in 0..<height {
      for x in 0..<width {
        let index = y * width + x
        changed[index] = differs[index] != 0 && isJoined(differs, x, y) ? 1 : 0
        count += Int(changed[index])
      }
    }
    share = Double(count) / Double(max(1, changed.count))
    fillGrid()
    (regions, largest) = (0, (0..<0, 0..<0))
    if count > 0 { findRegions() }
  }

  /// Whether enough samples around this one differ. In areas with fewer than 3 samples around, all of them
  /// must differ.
  private func isJoined(_ differs: [UInt8], _ x: Int, _ y: Int) -> Bool {
    let rows = max(y - 1, 0)...min(y + 1, height - 1)
    let columns = max(x - 1, 0)...min(x + 1, width - 1)
    var sum: UInt8 = 0
    for row in rows {
      for column in columns { sum += differs[row * width + column] }
    }
    return Int(sum) >= min(Self.leastNeighbours, rows.count * columns.count)
  }

  private mutating func fillGrid() {
    // A local copy: writing an element of a property allocates in a debug build.
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
    for start in changed.indices where changed[start] == 1 {
      regions += 1
      let (size, columns, rows) = region(from: start)
      if size > most { (most, largest) = (size, (columns, rows)) }
    }
  }

  /// Visits all moving samples that touch each other, also diagonally (breadth first).
  private mutating func region(
    from start: Int
  ) -> (size: Int, columns: Range<Int>, rows: Range<Int>) {
    var (left, right, top, bottom) = (width, 0, height, 0)
    queue[0] = start
    changed[start] = Self.queued
    var (next, end) = (0, 1)
    while next < end {
      let (x, y) = (queue[next] % width, queue[next] / width)
      next += 1
      (left, right) = (min(left, x), max(right, x))
      (top, bottom) = (min(top, y), max(bottom, y))
      for row in max(y - 1, 0)...min(y + 1, height - 1) {
        for column in max(x - 1, 0)...min(x + 1, width - 1) {
          let index = row * width + column
          guard changed[index] == 1 else { continue }
          changed[index] = Self.queued
          queue[end] = index
          end += 1
        }
      }
    }
    return (end, left..<right + 1, top..<bottom + 1)
  }
}
