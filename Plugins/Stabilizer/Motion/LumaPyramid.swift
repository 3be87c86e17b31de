/// One frame's luma at falling sizes, each half of the one before, in memory of its own.
///
/// The finest levels are copied from what the engine prepared; the ones below are made here. The
/// copy lets kernels see rows of two frames as plain spans, and costs a tenth of a millisecond.
struct LumaPyramid {
  /// One size of the picture, without padding.
  struct Level {
    let width: Int
    let height: Int
    var bytes: [UInt8]

    init(width: Int, height: Int) {
      self.width = width
      self.height = height
      bytes = [UInt8](repeating: 0, count: width * height)
    }

  }

  var levels: [Level]
  /// How many levels the caller fills.
  let given: Int

  /// Levels from `width` by `height` down, halved and rounded up, until the longer side is at most
  /// `coarsest`; at least `given` of them.
  init(width: Int, height: Int, given: Int, coarsest: Int) {
    self.given = given
    levels = [Level(width: width, height: height)]
    while let last = levels.last, levels.count < given || max(last.width, last.height) > coarsest {
      levels.append(Level(width: (last.width + 1) / 2, height: (last.height + 1) / 2))
    }
  }

  /// Copies a row of a level that the caller fills.
  mutating func copy(_ row: Span<UInt8>, level: Int, y: Int) {
    let width = levels[level].width
    var bytes = levels[level].bytes.mutableSpan
    var target = bytes._mutatingExtracting(y * width..<(y + 1) * width)
    let source = row.extracting(first: width)
    for x in 0..<width { target[x] = source[x] }
  }

  /// Makes the levels that the caller does not fill.
  mutating func finish() {
    for index in given..<levels.count { reduce(into: index) }
  }

  private mutating func reduce(into index: Int) {
    let fine = levels[index - 1]
    halve(fine.bytes.span, width: fine.width, height: fine.height, into: &levels[index].bytes)
  }
}

/// Means of two by two pixels, rounded; at an odd edge its pixels count twice.
func halve(_ bytes: Span<UInt8>, width: Int, height: Int, into result: inout [UInt8]) {
  let (columns, rows) = ((width + 1) / 2, (height + 1) / 2)
  for y in 0..<rows {
    let upper = 2 * y * width
    let lower = min(2 * y + 1, height - 1) * width
    for x in 0..<columns {
      let left = 2 * x
      let right = min(left + 1, width - 1)
      let above = UInt16(bytes[upper + left]) + UInt16(bytes[upper + right])
      let below = UInt16(bytes[lower + left]) + UInt16(bytes[lower + right])
      result[y * columns + x] = UInt8(truncatingIfNeeded: (above + below + 2) / 4)
    }
  }
}
