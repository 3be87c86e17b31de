/// Resizes one plane, and fills in what is around it.
struct PlaneResize {
  private let plane: Int
  private var resampler: PlaneResampler
  /// The samples that are made from the source; the others have the level `padding`.
  private var columns: Range<Int>
  private var rows: Range<Int>
  private let padding: UInt16
  /// Greatest level.
  private let white: Float
  private var line: [Float]

  init(
    _ plane: Int, _ filter: ResamplingFilter, _ place: Placement, from old: FrameFormat,
    to new: FrameFormat, padding: UInt16
  ) {
    self.plane = plane
    self.padding = padding
    let (across, down) = Self.axes(plane, place, from: old, to: new)
    (columns, rows) = (across.samples, down.samples)
    resampler = PlaneResampler(
      columns: ResamplingTable(
        filter, sourceCount: across.sourceCount, count: columns.count, first: across.first,
        step: across.step),
      rows: ResamplingTable(
        filter, sourceCount: down.sourceCount, count: rows.count, first: down.first,
        step: down.step))
    white = Float((1 << (old.image?.bitsPerSample ?? 8)) - 1)
    line = Array(repeating: 0, count: columns.count)
  }

  /// Shows another part of the picture. Allocates nothing where it is no larger than the first one.
  mutating func show(
    _ filter: ResamplingFilter, _ place: Placement, from old: FrameFormat, to new: FrameFormat
  ) {
    let (across, down) = Self.axes(plane, place, from: old, to: new)
    (columns, rows) = (across.samples, down.samples)
    resampler.change { columns, rows in
      columns.make(
        filter, sourceCount: across.sourceCount, count: across.samples.count, first: across.first,
        step: across.step)
      rows.make(
        filter, sourceCount: down.sourceCount, count: down.samples.count, first: down.first,
        step: down.step)
    }
    line.removeAll(keepingCapacity: true)
    for _ in columns { line.append(0) }
  }

  /// Which samples are made on an axis, and where they lie among the source's.
  private struct Axis {
    var samples: Range<Int>
    var sourceCount: Int
    var first: Double
    var step: Double
  }

  private static func axes(
    _ plane: Int, _ place: Placement, from old: FrameFormat, to new: FrameFormat
  ) -> (across: Axis, down: Axis) {
    let image = old.image ?? .grey
    let (from, grid) = (old.sampleGrid(plane: plane), new.sampleGrid(plane: plane))
    let size = image.plane(plane, width: old.width, height: old.height)
    let columns = samples(place.columns, grid.columns)
    let rows = samples(place.rows, grid.rows)
    // A sample's place in the new picture, then in the old one, then among the old plane's samples.
    let map = place.sourceFromPicture
    let first = map.apply(
      grid.left + Double(columns.lowerBound * grid.columns),
      grid.top + Double(rows.lowerBound * grid.rows))
    let next = map.apply(
      grid.left + Double((columns.lowerBound + 1) * grid.columns),
      grid.top + Double((rows.lowerBound + 1) * grid.rows))
    return (
      Axis(
        samples: columns, sourceCount: size.bytesPerRow / (image.isDeep ? 2 : 1),
        first: (first.x - from.left) / Double(from.columns),
        step: (next.x - first.x) / Double(from.columns)),
      Axis(
        samples: rows, sourceCount: size.rows, first: (first.y - from.top) / Double(from.rows),
        step: (next.y - first.y) / Double(from.rows))
    )
  }

  /// Of a plane with a sample for each `step` pixels, those with a pixel in `pixels`, which begins on one.
  private static func samples(_ pixels: Range<Int>, _ step: Int) -> Range<Int> {
    pixels.lowerBound / step..<(pixels.upperBound + step - 1) / step
  }

  mutating func make(_ picture: inout ImageEditor) {
    let isDeep = picture.format.isDeep
    let source = picture.source[plane: plane]
    for y in 0..<picture.rows(plane: plane) {
      let isPadding = !rows.contains(y)
      if !isPadding {
        makeRow(y &- rows.lowerBound, of: source, isDeep, &resampler, into: &line)
      }
      if isDeep {
        var row = picture.row16(y, plane: plane)
        if isPadding || columns.count < row.count { fill(&row, padding) }
        guard !isPadding else { continue }
        var part = row._mutatingExtracting(columns)
        round(line.span, into: &part, white: white)
      } else {
        var row = picture.row(y, plane: plane)
        if isPadding || columns.count < row.count { fill(&row, UInt8(padding)) }
        guard !isPadding else { continue }
        var part = row._mutatingExtracting(columns)
        round(line.span, into: &part)
      }
    }
  }
}

private func makeRow(
  _ y: Int, of source: borrowing Plane, _ isDeep: Bool, _ resampler: inout PlaneResampler,
  into line: inout [Float]
) {
  var numbers = line.mutableSpan
  resampler.makeRow(y, of: source, isDeep: isDeep, into: &numbers)
}

private func fill(_ row: inout MutableSpan<UInt8>, _ level: UInt8) {
  for x in 0..<row.count { row[x] = level }
}

private func fill(_ row: inout MutableSpan<UInt16>, _ level: UInt16) {
  for x in 0..<row.count { row[x] = level }
}

/// The nearest levels. A number from 2^23 to 2^24 has its integer part in its low bits; adding 2^23 rounds
/// to it, ties to even.
private func round(_ line: Span<Float>, into row: inout MutableSpan<UInt8>) {
  let count = min(line.count, row.count)
  for x in 0..<count {
    let level = min(max(line[x], 0), 255) + 8_388_608
    row[x] = UInt8(truncatingIfNeeded: level.bitPattern)
  }
}

private func round(_ line: Span<Float>, into row: inout MutableSpan<UInt16>, white: Float) {
  let count = min(line.count, row.count)
  for x in 0..<count {
    let level = min(max(line[x], 0), white) + 8_388_608
    row[x] = UInt16(truncatingIfNeeded: level.bitPattern)
  }
}
