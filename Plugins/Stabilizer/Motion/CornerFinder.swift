/// Chooses points that can be tracked: in each cell of a grid, the point with the largest minimum eigenvalue
/// of the matrix of gradient products.
///
/// J. Shi, C. Tomasi, "Good features to track", CVPR 1994. A corner per cell, and not the best of
/// all: points lie all over the picture then, and a thing that moves on its own has its share of them
/// and no more.
struct CornerFinder {
  let width: Int
  let height: Int
  let columns: Int
  let rows: Int
  /// By cell: the place of its best point and the least eigenvalue there; -1 is none.
  private(set) var corners: [Corner]
  /// Products of derivatives, summed down `window` rows.
  private var xx: [Int32]
  private var xy: [Int32]
  private var yy: [Int32]
  private var responses: [Float]
  /// By column: the largest response in this row of cells, and where.
  private var peaks: [Float]
  private var peakRows: [Int32]

  struct Corner {
    var x = 0
    var y = 0
    var response: Float = -1
  }

  /// Side of the square over which derivatives are summed, in pixels. Larger: corners are less affected by
  /// noise and less exactly placed. The usual size of trackers.
  static let window = 7
  private static let reach = window / 2

  /// `margin`: how near to the edge no point is chosen, in pixels.
  let margin: Int

  init(width: Int, height: Int, columns: Int, rows: Int, margin: Int) {
    self.width = width
    self.height = height
    self.columns = columns
    self.rows = rows
    self.margin = max(margin, Self.reach + 1)
    corners = [Corner](repeating: Corner(), count: columns * rows)
    xx = [Int32](repeating: 0, count: width)
    xy = xx
    yy = xx
    responses = [Float](repeating: 0, count: width)
    peaks = [Float](repeating: -1, count: width)
    peakRows = xx
  }

  /// Fills `corners` from a picture.
  mutating func find(in level: LumaPyramid.Level) {
    for index in corners.indices { corners[index] = Corner() }
    let first = margin
    let last = height - margin
    guard first < last, width > 2 * margin else { return }
    for x in 0..<width {
      xx[x] = 0
      xy[x] = 0
      yy[x] = 0
    }
    let bytes = level.bytes.span
    for y in first - Self.reach..<first + Self.reach { add(bytes, y, sign: 1) }
    for y in first..<last {
      add(bytes, y + Self.reach, sign: 1)
      leastEigenvalues(xx: xx, xy: xy, yy: yy, into: &responses)
      takePeaks(of: responses, row: Int32(y), into: &peaks, rows: &peakRows)
      add(bytes, y - Self.reach, sign: -1)
      let row = y * rows / height
      if y + 1 == last || (y + 1) * rows / height > row { choose(row) }
    }
  }

  /// Adds row `y`'s products of derivatives to the sums, or takes them away.
  private mutating func add(_ bytes: Span<UInt8>, _ y: Int, sign: Int32) {
    addProducts(
      above: bytes.extracting((y - 1) * width..<y * width),
      row: bytes.extracting(y * width..<(y + 1) * width),
      below: bytes.extracting((y + 1) * width..<(y + 2) * width), sign: sign, xx: &xx, xy: &xy,
      yy: &yy)
  }

  /// Closes the cells of one row of the grid.
  private mutating func choose(_ row: Int) {
    for column in 0..<columns {
      let first = max(column * width / columns, margin)
      let last = min((column + 1) * width / columns, width - margin)
      var best = Corner()
      for x in first..<max(first, last) where peaks[x] > best.response {
        best = Corner(x: x, y: Int(peakRows[x]), response: peaks[x])
      }
      corners[row * columns + column] = best
    }
    for x in peaks.indices { peaks[x] = -1 }
  }
}

/// Raises the columns' `peaks` to a row's responses, and notes the row where it does.
func takePeaks(
  of responses: [Float], row: Int32, into peaks: inout [Float], rows: inout [Int32]
) {
  let responses = responses.span
  var peaks = peaks.mutableSpan
  var rows = rows.mutableSpan
  for x in 0..<responses.count {
    let isMore = responses[x] > peaks[x]
    peaks[x] = isMore ? responses[x] : peaks[x]
    rows[x] = isMore ? row : rows[x]
  }
}

/// Adds the products of a row's central differences, taken twice, to sums by column; `sign` -1 takes
/// them away. A product is within ±65,025, a sum of seven within ±455,175.
func addProducts(
  above: Span<UInt8>, row: Span<UInt8>, below: Span<UInt8>, sign: Int32,
  xx: inout [Int32], xy: inout [Int32], yy: inout [Int32]
) {
  let count = row.count - 2
  let (west, east) = (row.extracting(0..<count), row.extracting(2..<count + 2))
  let (north, south) = (above.extracting(1...count), below.extracting(1...count))
  var allXX = xx.mutableSpan
  var allXY = xy.mutableSpan
  var allYY = yy.mutableSpan
  var xx = allXX._mutatingExtracting(1...count)
  var xy = allXY._mutatingExtracting(1...count)
  var yy = allYY._mutatingExtracting(1...count)
  for x in 0..<count {
    let dx = Int32(east[x]) &- Int32(west[x])
    let dy = Int32(south[x]) &- Int32(north[x])
    xx[x] &+= sign &* dx &* dx
    xy[x] &+= sign &* dx &* dy
    yy[x] &+= sign &* dy &* dy
  }
}

/// The lesser eigenvalue of the matrix of products, summed along seven columns, as a mean over the
/// 49 pixels, of differences between neighbours. The three columns at either end are left as they
/// are.
func leastEigenvalues(
  xx: [Int32], xy: [Int32], yy: [Int32], into responses: inout [Float]
) {
  let count = responses.count - 6
  guard count > 0 else { return }
  let (xx, xy, yy) = (xx.span, xy.span, yy.span)
  var all = responses.mutableSpan
  var result = all._mutatingExtracting(3..<count + 3)
  for x in 0..<count {
    var (a, b, c): (Int32, Int32, Int32) = (0, 0, 0)
    for shift in 0..<7 {
      a &+= xx[x &+ shift]
      b &+= xy[x &+ shift]
      c &+= yy[x &+ shift]
    }
    let mean = Float(a &+ c) * 0.5
    let half = Float(a &- c) * 0.5
    let off = Float(b)
    // Central differences span two pixels: a quarter of their products.
    result[x] = (mean - (half * half + off * off).squareRoot()) * (0.25 / 49)
  }
}
