/// Fractal noise, one picture row at a time, that repeats after the row's width.
///
/// Value noise on a lattice (Perlin's fade curve 3t² - 2t³), octaves halving in size and in
/// amplitude by `persistence`. By rows, because then a lattice line is hashed once for the rows that
/// follow each other, and the inner loop is a multiply-add.
///
/// The caller may skip rows.
struct SceneNoise {
  private var octaves: [SceneNoiseOctave]

  /// `cells` are the lattice cells of the coarsest octave across the row's `width`, at least 1.
  init(seed: UInt64, octaves: Int, persistence: Float, cells: Int, width: Int) {
    var amplitude: Float = 1
    var total: Float = 0
    for _ in 0..<octaves {
      total += amplitude
      amplitude *= persistence
    }
    amplitude = 1 / total
    self.octaves = []
    for octave in 0..<octaves {
      self.octaves.append(
        SceneNoiseOctave(
          seed: SceneRandom.mix(seed &+ UInt64(octave)), amplitude: amplitude,
          cells: cells << octave, width: width))
      amplitude *= persistence
    }
  }

  /// Overwrites `row` with noise in about -1...1 at lattice height `y` (in coarsest cells).
  mutating func fill(_ row: inout [Float], y: Float) {
    for x in row.indices { row[x] = 0 }
    for index in octaves.indices {
      // A shift per octave, or all octaves would share the lattice lines of the coarsest.
      let shifted = y * Float(1 << index) + Float(index) * 0.37
      var target = row.mutableSpan
      octaves[index].add(y: shifted, to: &target)
    }
  }
}

private struct SceneNoiseOctave {
  private let seed: UInt64
  private let amplitude: Float
  /// Cell of each column, and the column's place in its cell on the fade curve.
  private let cellsOfColumns: [Int32]
  private let fades: [Float]
  /// Values of the lattice at the row's height, one per cell. The first value is repeated at the end.
  private var values: [Float]
  /// The lattice's values, in -1...1, on the line above the last row and below it.
  private var upper: [Float]
  private var lower: [Float]
  private var line: Int?

  init(seed: UInt64, amplitude: Float, cells: Int, width: Int) {
    self.seed = seed
    self.amplitude = amplitude
    let starts = (0...cells).map { ($0 * width + cells - 1) / cells }
    let spacing = Float(width) / Float(cells)
    var fades = [Float](repeating: 0, count: width)
    var cellsOfColumns = [Int32](repeating: 0, count: width)
    for cell in 0..<cells {
      for x in starts[cell]..<starts[cell + 1] {
        let fx = Float(x) / spacing - Float(cell)
        fades[x] = fx * fx * (3 - 2 * fx)
        cellsOfColumns[x] = Int32(cell)
      }
    }
    self.cellsOfColumns = cellsOfColumns
    self.fades = fades
    values = [Float](repeating: 0, count: cells + 1)
    upper = [Float](repeating: 0, count: cells)
    lower = upper
  }

  mutating func add(y: Float, to row: inout MutableSpan<Float>) {
    let line = Int(y.rounded(.down))
    move(to: line)
    let fy = y - Float(line)
    let sy = fy * fy * (3 - 2 * fy)
    let (upper, lower, amplitude) = (upper, lower, amplitude)
    var between = values.mutableSpan
    mix(upper.span, lower.span, sy, amplitude, into: &between)
    values[upper.count] = values[0]
    addColumns(values.span, cellsOfColumns.span, fades.span, to: &row)
  }

  private mutating func move(to line: Int) {
    guard line != self.line else { return }
    if let last = self.line, line == last + 1 {
      swap(&upper, &lower)
    } else {
      hash(line, into: &upper)
    }
    hash(line + 1, into: &lower)
    self.line = line
  }

  private func hash(_ line: Int, into values: inout [Float]) {
    for column in values.indices {
      let place = UInt64(UInt32(truncatingIfNeeded: column)) << 32
      let word = place | UInt64(UInt32(truncatingIfNeeded: line))
      let hash = SceneRandom.mix(word ^ seed)
      values[column] = Float(Int32(truncatingIfNeeded: hash >> 32)) * 0x1p-31
    }
  }
}

/// Interpolates between two lines of the lattice. A function of spans alone, so that its loop is vectorised.
private func mix(
  _ upper: Span<Float>, _ lower: Span<Float>, _ sy: Float, _ amplitude: Float,
  into values: inout MutableSpan<Float>
) {
  let count = upper.count
  precondition(lower.count == count && values.count > count)
  for cell in 0..<count {
    values[cell] = (upper[cell] + (lower[cell] - upper[cell]) * sy) * amplitude
  }
}

/// Adds to each column the value between the two corners of its cell.
private func addColumns(
  _ values: Span<Float>, _ cells: Span<Int32>, _ fades: Span<Float>,
  to row: inout MutableSpan<Float>
) {
  let count = row.count
  precondition(cells.count == count && fades.count == count)
  for x in 0..<count {
    let cell = Int(cells[x])
    let left = values[cell]
    row[x] += left + (values[cell + 1] - left) * fades[x]
  }
}
