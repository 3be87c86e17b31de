import SprocketCore

/// Which pixels are metered: all of one row in `step`.
///
/// Whole rows, because that is how memory is read ahead; scattered pixels cost as much to fetch as all.
struct SamplingGrid: Equatable {
  /// So many rows are left of a picture at the least, whatever is asked for; a zone has seven.
  static let fewestRows = 64

  /// Odd, so that both fields of interlaced pictures and each row of JPEG's blocks of 8 are met.
  let step: Int

  /// The coarsest grid that has at least `samples` pixels of the picture; 0 is all of them.
  init(samples: Int, width: Int, height: Int) {
    let rows = samples == 0 ? height : (samples + width - 1) / width
    let largest = max(1, height / max(rows, Self.fewestRows))
    step = largest.isMultiple(of: 2) ? largest - 1 : largest
  }

  /// Which of `rows` are on the grid: those in the middle of each `step` rows from the top.
  func rows(of rows: Range<Int>) -> StrideTo<Int> {
    let first = (rows.lowerBound + step - 1 - step / 2) / step * step + step / 2
    return stride(from: first, to: rows.upperBound, by: step)
  }
}
