/// Which pixels are metered: whole rows, evenly spread over each band of the picture.
///
/// Whole rows, because memory is read ahead along them: scattered pixels cost as much to fetch as all.
/// Each is in the middle of the rows that it stands for, so that light which rises or falls evenly over
/// a band is metered without error.
struct SamplingGrid: Equatable {
  /// Fewest rows of a picture that are metered. Larger: more exact, slower. 128 are 14 or more per zone.
  static let fewestRows = 128

  /// Rows of the whole picture: those that are wanted, and those that there are.
  let wanted: Int
  let height: Int

  /// The fewest rows that have `samples` pixels of the picture, but no less than `fewestRows`; 0 is
  /// all of them.
  init(samples: Int, width: Int, height: Int) {
    let rows = samples == 0 ? height : (samples + width - 1) / width
    wanted = min(height, max(rows, Self.fewestRows))
    self.height = height
  }

  /// How many of a band's `rows` are on the grid: its share, rounded up.
  ///
  /// More where each would stand for an even number of rows: then only one field of interlaced video
  /// might be met, or one row of each of JPEG's blocks.
  func count(of rows: Range<Int>) -> Int {
    var count = (wanted * rows.count + height - 1) / height
    while count > 0 && rows.count % (2 * count) == 0 { count += 1 }
    return count
  }

  /// Row number `index` of `count` of a band's `rows`.
  func row(_ index: Int, of count: Int, in rows: Range<Int>) -> Int {
    rows.lowerBound + (2 * index + 1) * rows.count / (2 * count)
  }
}
