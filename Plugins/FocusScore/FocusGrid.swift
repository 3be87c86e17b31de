import SprocketCore

/// The window that is measured, and its division into 4 columns and 4 rows of cells.
struct FocusGrid {
  /// Cells in each direction. Larger: a finer map of sharpness, noisier cells. The report has 4 by 4.
  static let side = 4
  /// Least width and height of the window, in pixels; smaller ones are widened. Larger: small points are
  /// measured with more around them. Wider than `FocusSums.lag`, and each cell has pixels with neighbours.
  static let least = 16

  let columns: Range<Int>
  let rows: Range<Int>
  private let columnEdges: InlineArray<5, Int>
  private let rowEdges: InlineArray<5, Int>

  /// A window of a picture, widened where it is too small, and then moved into the picture; `nil` if
  /// the picture is too small.
  init?(columns: Range<Int>, rows: Range<Int>, width: Int, height: Int) {
    guard width >= Self.least, height >= Self.least else { return nil }
    let columns = Self.widened(columns, below: width)
    let rows = Self.widened(rows, below: height)
    self.columns = columns
    self.rows = rows
    columnEdges = InlineArray { columns.lowerBound + $0 * columns.count / Self.side }
    rowEdges = InlineArray { rows.lowerBound + $0 * rows.count / Self.side }
  }

  private static func widened(_ range: Range<Int>, below end: Int) -> Range<Int> {
    guard range.count < least else { return range }
    let middle = (range.lowerBound + range.upperBound) / 2
    let start = min(max(middle - least / 2, 0), end - least)
    return start..<start + least
  }

  /// The pixels of a column of cells that lie in `range`.
  func columns(of cell: Int, in range: Range<Int>) -> Range<Int> {
    (columnEdges[cell]..<columnEdges[cell + 1]).clamped(to: range)
  }

  func rows(of cell: Int, in range: Range<Int>) -> Range<Int> {
    (rowEdges[cell]..<rowEdges[cell + 1]).clamped(to: range)
  }

  /// The row of cells that row `y` of the picture lies in.
  func cellRow(of y: Int) -> Int {
    var cell = 0
    while y >= rowEdges[cell + 1] { cell += 1 }
    return cell
  }

  /// Rows from one that levels and contrast are taken of to the next. Larger: faster, less exact. Half of the
  /// rows give the same figures as all.
  static let sampling = 2

  func isSampled(_ y: Int) -> Bool { (y - rows.lowerBound) % Self.sampling == 0 }

  /// How many of these rows are sampled.
  private func sampledCount(_ range: Range<Int>) -> Int {
    func below(_ y: Int) -> Int { (y - rows.lowerBound + Self.sampling - 1) / Self.sampling }
    return below(range.upperBound) - below(range.lowerBound)
  }

  /// Pixels that have all their neighbours in the window.
  var innerColumns: Range<Int> { columns.lowerBound + 1..<columns.upperBound - 1 }
  var innerRows: Range<Int> { rows.lowerBound + 1..<rows.upperBound - 1 }
  /// The middles of pairs of pixels `FocusSums.lag` apart: each belongs to its cell.
  var middleColumns: Range<Int> { Self.middles(columns) }
  var middleRows: Range<Int> { Self.middles(rows) }

  private static func middles(_ range: Range<Int>) -> Range<Int> {
    let half = FocusSums.lag / 2
    return range.lowerBound + half..<range.upperBound - half
  }

  /// A cell's part of a row of responses, which begins at the window's second pixel.
  func responses(of cell: Int) -> Range<Int> {
    let (pixels, start) = (columns(of: cell, in: innerColumns), innerColumns.lowerBound)
    return pixels.lowerBound - start..<pixels.upperBound - start
  }

  /// How many of each there are in a cell.
  func counts(column: Int, row: Int) -> FocusSums.Counts {
    let width = columns(of: column, in: columns).count
    let height = sampledCount(rows(of: row, in: rows))
    var counts = FocusSums.Counts()
    counts.pixels = width * height
    counts.inner =
      columns(of: column, in: innerColumns).count * rows(of: row, in: innerRows).count
    counts.along = columns(of: column, in: middleColumns).count * height
    counts.down = width * sampledCount(rows(of: row, in: middleRows))
    return counts
  }
}
