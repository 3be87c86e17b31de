import SprocketCore

/// The two passes over a plane of bytes, sixteen at a time, in bands of sixteen rows of the source.
///
/// A band's sixteen rows are transposed, so that both passes have the same form: a sum of the first pass is
/// for one column of the target and sixteen rows of the source, a sum of the second for one row of the target
/// and sixteen columns. In between, sixteen columns (a tile) at a time are transposed back. Each tile keeps
/// only the rows that the second pass still needs.
///
/// Samples are 16-bit numbers: 128 times the level, then 64, then 32 times; weights are in 32768ths,
/// and of each product the upper half counts. The kernel's lobes add at most 0.27 of the range at each
/// end in the first pass, 0.69 in both: 64 * 1.27 * 255 and 32 * 1.69 * 255 are below 32768.
struct ByteWarp {
  private var along: PassAlongRows
  private var down: PassDownColumns

  /// For planes of at most that width.
  init(width: Int) {
    along = PassAlongRows(width: width)
    down = PassDownColumns(width: width)
  }

  /// Fills in one plane from the same of `picture.source`.
  mutating func warp(_ plane: Int, of picture: inout ImageEditor, _ geometry: PlaneGeometry) {
    let source = picture.source[plane: plane]
    let tiles = (source.bytesPerRow + 15) / 16
    along.begin(geometry.along, size: source.bytesPerRow)
    down.begin(geometry.down, size: source.rows)
    let (left, right) = (down.needed(of: 0), down.needed(of: tiles - 1))
    let top = min(left.lowerBound, right.lowerBound)
    let bottom = max(left.upperBound, right.upperBound)
    for band in top >> 4...(bottom - 1) >> 4 {
      along.fill(source, band, tiles)
      for tile in 0..<tiles {
        if down.needed(of: tile).overlaps(band * 16..<band * 16 + 16) {
          along.move(tile, band, into: &down)
        }
        down.move(tile, band, plane, &picture)
      }
    }
  }
}

/// From the source's rows to columns of the target.
struct PassAlongRows {
  private var weights = LaneWeights()
  private var steps = LaneSteps()
  /// The columns of a band, from `-margin` on: each lane is a row.
  private var columns: [Lanes]

  /// Columns beyond the source at each side.
  private static let margin = LaneWeights.mostTaps

  init(width: Int) {
    columns = Array(repeating: Lanes(), count: width + 16 + 2 * Self.margin)
  }

  mutating func begin(_ line: PlaneGeometry.Line, size: Int) {
    weights.set(slope: line.y)
    steps = LaneSteps(line.start, along: line.x, across: line.y, weights, size: size)
  }

  /// Transposes the part of the band that `tiles` are made from.
  mutating func fill(_ source: Plane, _ band: Int, _ tiles: Int) {
    let width = source.bytesPerRow
    let (first, last) = (steps.sample(0, band), steps.sample(tiles * 16 - 1, band))
    let needed = min(first, last)..<max(first, last) + weights.window
    let from = min(max(needed.lowerBound, 0), width - 1)
    let end = max(min(needed.upperBound, width), from + 1)
    var columns = columns.mutableSpan
    for x in stride(from: from, to: end, by: 16) {
      let x = max(min(x, width &- 16), 0)
      var square = Square(repeating: Lanes())
      for row in 0..<16 {
        let y = min(max(band &* 16 &+ row, 0), source.rows &- 1)
        square[row] = lanes(of: source[row: y], at: x)
      }
      transpose(&square, into: &columns, at: x &+ Self.margin)
    }
    for x in needed.lowerBound..<max(needed.lowerBound, from) {
      columns[x &+ Self.margin] = columns[from &+ Self.margin]
    }
    for x in min(end, needed.upperBound)..<needed.upperBound {
      columns[x &+ Self.margin] = columns[end &- 1 &+ Self.margin]
    }
  }

  /// Makes sixteen columns of the target.
  func move(_ tile: Int, _ band: Int, into down: inout PassDownColumns) {
    let columns = columns.span
    let weights = weights.lanes.span
    let window = self.weights.window
    var square = Square(repeating: Lanes())
    for column in 0..<16 {
      let (sample, phase) = steps.place(tile &* 16 &+ column, band)
      square[column] = weightedSum(
        columns, from: sample &+ Self.margin, weights, from: phase &* window, window)
    }
    down.append(&square, to: tile)
  }
}

/// From columns of the target to its rows.
struct PassDownColumns {
  private var weights = LaneWeights()
  private var steps = LaneSteps()
  /// Tile by tile: rows of the band before that are still needed, then the band's.
  private var rows: [Lanes]
  /// By tile, the target's row that is next.
  private var next: [Int]
  private var height = 0

  /// From one tile's to the next's.
  private var stride: Int { weights.window &+ 15 }

  init(width: Int) {
    let tiles = (width + 15) / 16
    rows = Array(repeating: Lanes(), count: tiles * (LaneWeights.mostTaps + 15))
    next = Array(repeating: 0, count: tiles)
  }

  mutating func begin(_ line: PlaneGeometry.Line, size: Int) {
    weights.set(slope: line.x)
    steps = LaneSteps(line.start, along: line.y, across: line.x, weights, size: size)
    height = size
    for tile in next.indices { next[tile] = 0 }
  }

  /// The source's rows that a tile is made from.
  func needed(of tile: Int) -> Range<Int> {
    steps.sample(0, tile)..<steps.sample(height - 1, tile) + weights.window
  }

  /// Takes the columns of a tile, of the band's rows.
  mutating func append(_ columns: inout Square, to tile: Int) {
    let start = tile &* stride &+ weights.window &- 1
    var rows = rows.mutableSpan
    transpose(&columns, into: &rows, at: start)
  }

  /// Makes all rows of a tile that its samples are there for.
  mutating func move(_ tile: Int, _ band: Int, _ plane: Int, _ picture: inout ImageEditor) {
    next[tile] = made(tile, band, from: next[tile], plane, &picture)
    let first = tile &* stride
    for row in first..<first &+ weights.window &- 1 { rows[row] = rows[row &+ 16] }
  }

  /// The row after the last that was made.
  private func made(
    _ tile: Int, _ band: Int, from start: Int, _ plane: Int, _ picture: inout ImageEditor
  ) -> Int {
    let samples = rows.span
    let weights = weights.lanes.span
    let window = self.weights.window
    // What is first in the tile's memory.
    let top = band &* 16 &- window &+ 1
    let first = tile &* stride
    for y in start..<height {
      let (sample, phase) = steps.place(y, tile)
      guard sample &- top < 16 else { return y }
      let sum = weightedSum(
        samples, from: first &+ sample &- top, weights, from: phase &* window, window)
      var row = picture.row(y, plane: plane)
      store((sum &+ 16) &>> 5, into: &row, at: tile &* 16)
    }
    return height
  }
}

/// Weighted sums in sixteen lanes. Each product is rounded down, by half a unit on average. The weights are
/// negative, so this makes the result half a unit too large per tap, which is subtracted.
@inline(__always)
private func weightedSum(
  _ samples: Span<Lanes>, from sample: Int, _ weights: Span<Lanes>, from weight: Int, _ count: Int
) -> Lanes {
  // The usual window has a loop of its own, whose length the compiler knows.
  let usual = LaneWeights.leastTaps
  return count == usual
    ? sum(of: usual, samples, from: sample, weights, from: weight)
    : sum(of: count, samples, from: sample, weights, from: weight)
}

@inline(__always)
private func sum(
  of count: Int, _ samples: Span<Lanes>, from sample: Int, _ weights: Span<Lanes>, from weight: Int
) -> Lanes {
  let samples = samples.extracting(sample..<sample &+ count)
  let weights = weights.extracting(weight..<weight &+ count)
  var sum = Lanes(repeating: -Int16(LanczosWeights.taps / 2))
  for tap in 0..<count { sum &-= highProducts(samples[tap], weights[tap]) }
  return sum
}
