/// Fractal noise, one picture row at a time, that repeats after the row's width.
///
/// Value noise on a lattice (Perlin's fade curve 3t² - 2t³), octaves halving in size and in
/// amplitude by `persistence`. By rows, because then a lattice cell is hashed once per row and the
/// inner loop is a multiply-add.
struct SceneNoise {
  var seed: UInt64
  var octaves: Int
  var persistence: Float
  /// Lattice cells of the coarsest octave across the row's width, at least 1.
  var cells: Int

  /// Overwrites `row` with noise in about -1...1 at lattice height `y` (in coarsest cells).
  func fill(_ row: inout [Float], y: Float) {
    for x in row.indices { row[x] = 0 }
    var amplitude: Float = 1
    var total: Float = 0
    for _ in 0..<octaves {
      total += amplitude
      amplitude *= persistence
    }
    amplitude = 1 / total
    for octave in 0..<octaves {
      let scale = 1 << octave
      // A shift per octave, or all octaves would share the lattice lines of the coarsest.
      let shifted = y * Float(scale) + Float(octave) * 0.37
      addOctave(&row, cells: cells * scale, y: shifted, amplitude: amplitude, octave: octave)
      amplitude *= persistence
    }
  }

  private func addOctave(
    _ row: inout [Float], cells: Int, y: Float, amplitude: Float, octave: Int
  ) {
    let width = row.count
    let spacing = Float(width) / Float(cells)
    let line = Int(y.rounded(.down))
    let fy = y - Float(line)
    let sy = fy * fy * (3 - 2 * fy)
    var left = corner(0, line, sy, octave) * amplitude
    for cell in 0..<cells {
      let right = corner(cell + 1 == cells ? 0 : cell + 1, line, sy, octave) * amplitude
      let start = (cell * width + cells - 1) / cells
      let end = ((cell + 1) * width + cells - 1) / cells
      for x in start..<end {
        let fx = Float(x) / spacing - Float(cell)
        row[x] += left + (right - left) * (fx * fx * (3 - 2 * fx))
      }
      left = right
    }
  }

  /// The lattice's value on one column, between two lines, in -1...1.
  private func corner(_ column: Int, _ line: Int, _ sy: Float, _ octave: Int) -> Float {
    let upper = lattice(column, line, octave)
    let lower = lattice(column, line + 1, octave)
    return upper + (lower - upper) * sy
  }

  private func lattice(_ column: Int, _ line: Int, _ octave: Int) -> Float {
    let place = UInt64(UInt32(truncatingIfNeeded: column)) << 32
    let word = place | UInt64(UInt32(truncatingIfNeeded: line))
    let hash = SceneRandom.mix(word ^ SceneRandom.mix(seed &+ UInt64(octave)))
    return Float(Int32(truncatingIfNeeded: hash >> 32)) * 0x1p-31
  }
}
