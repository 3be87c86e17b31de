/// Makes rows of a resized plane, as numbers before rounding.
///
/// Each row is made of whole rows of the source first, which the processor does in lanes, then along the row.
/// One instance serves one thread. Memory is allocated by `init`: four bytes for each column that is read.
///
/// Cost on AVX2: about 0.1 ns for each source sample that is read, and 0.6 ns for each sample that is made,
/// with two taps.
@safe
public struct PlaneResampler {
  public private(set) var columns: ResamplingTable
  public private(set) var rows: ResamplingTable
  /// The sum of rows, by column from `columns.span` on.
  private var line: [Float]

  /// `columns` says how rows become shorter or longer, `rows` how columns do.
  public init(columns: ResamplingTable, rows: ResamplingTable) {
    self.columns = columns
    self.rows = rows
    line = Array(repeating: 0, count: columns.span.count)
  }

  /// Changes its tables by `body`. Allocates nothing where that does not, and no more columns are read.
  package mutating func change(
    _ body: (_ columns: inout ResamplingTable, _ rows: inout ResamplingTable) -> Void
  ) {
    body(&columns, &rows)
    line.removeAll(keepingCapacity: true)
    for _ in columns.span { line.append(0) }
  }

  /// Makes row `y` from a plane of samples of 8 bits, or of 16 bits where `isDeep`. `target` has
  /// `columns.count` numbers. The plane has the size that the tables were made for.
  public mutating func makeRow(
    _ y: Int, of plane: borrowing Plane, isDeep: Bool = false, into target: inout MutableSpan<Float>
  ) {
    let samples = isDeep ? plane.bytesPerRow / 2 : plane.bytesPerRow
    contract(
      target.count == columns.count && y >= 0 && y < rows.count
        && samples >= columns.span.upperBound && plane.rows >= rows.span.upperBound,
      "resamples row \(y) of a plane of \(samples)x\(plane.rows) into \(target.count) numbers, with "
        + "tables for \(rows.count) rows of \(columns.count); make tables for that plane")
    if columns.isCopy {
      sum(y, plane, isDeep: isDeep, into: &target)
    } else {
      sumIntoLine(y, plane, isDeep: isDeep)
      gather(line.span, columns, into: &target)
    }
  }

  private mutating func sumIntoLine(_ y: Int, _ plane: borrowing Plane, isDeep: Bool) {
    let (rows, columns) = (rows, columns)
    var target = line.mutableSpan
    Self.sum(y, plane, rows, columns, isDeep: isDeep, into: &target)
  }

  private func sum(
    _ y: Int, _ plane: borrowing Plane, isDeep: Bool, into target: inout MutableSpan<Float>
  ) {
    Self.sum(y, plane, rows, columns, isDeep: isDeep, into: &target)
  }

  /// The sum of the rows of which row `y` is made, at the columns that are read.
  private static func sum(
    _ y: Int, _ plane: borrowing Plane, _ rows: ResamplingTable, _ columns: ResamplingTable,
    isDeep: Bool, into line: inout MutableSpan<Float>
  ) {
    let first = Int(rows.starts[y])
    if rows.taps == 2, !isDeep {
      let (near, far) = (rows.weights[2 &* y], rows.weights[2 &* y &+ 1])
      if near != 0, far != 0 {
        return blend(
          &line, plane[row: first].extracting(columns.span),
          plane[row: first &+ 1].extracting(columns.span), near, far)
      }
    }
    var isBlank = true
    for tap in 0..<rows.taps {
      let weight = rows.weights[y &* rows.taps &+ tap]
      guard weight != 0 else { continue }
      if isDeep {
        let row = plane[row16: first &+ tap].extracting(columns.span)
        if isBlank { set(&line, row, weight) } else { add(&line, row, weight) }
      } else {
        let row = plane[row: first &+ tap].extracting(columns.span)
        if isBlank { set(&line, row, weight) } else { add(&line, row, weight) }
      }
      isBlank = false
    }
  }
}

/// Makes a row of `line`, which holds the columns that the table reads.
private func gather(
  _ line: Span<Float>, _ table: ResamplingTable, into target: inout MutableSpan<Float>
) {
  guard let periods = table.periods else {
    return gather(line, table, 0..<target.count, into: &target)
  }
  gather(line, table, 0..<periods.samples.lowerBound, into: &target)
  let origin = table.span.lowerBound
  // The step is a number that the compiler knows: it makes permutations of lanes of the loop.
  switch (periods.width, periods.step) {
  case (1, 2): repeatOne(line, periods, origin, step: 2, into: &target)
  case (1, 3): repeatOne(line, periods, origin, step: 3, into: &target)
  case (1, 4): repeatOne(line, periods, origin, step: 4, into: &target)
  case (1, 6): repeatOne(line, periods, origin, step: 6, into: &target)
  case (2, 1): repeatTwo(line, periods, origin, step: 1, into: &target)
  default: repeatTwo(line, periods, origin, step: 3, into: &target)
  }
  gather(line, table, periods.samples.upperBound..<target.count, into: &target)
}

/// Periods of one sample.
@inline(__always)
private func repeatOne(
  _ line: Span<Float>, _ periods: ResamplingPeriods, _ origin: Int, step: Int,
  into target: inout MutableSpan<Float>
) {
  let (near, far, samples) = (periods.first.near, periods.first.far, periods.samples)
  let source = line.extracting((periods.starts.0 - origin)...)
  // `makeRow` has checked sizes; the smaller count keeps every access within its row.
  let count = min(samples.count, max(source.count - 2 + step, 0) / step)
  var part = target._mutatingExtracting(samples)
  for x in 0..<count {
    unsafe part[unchecked: x] =
      source[unchecked: step &* x] * near + source[unchecked: step &* x &+ 1] * far
  }
}

/// Periods of two samples.
@inline(__always)
private func repeatTwo(
  _ line: Span<Float>, _ periods: ResamplingPeriods, _ origin: Int, step: Int,
  into target: inout MutableSpan<Float>
) {
  let ((a, b), (c, d), samples) = (periods.first, periods.second, periods.samples)
  let even = line.extracting((periods.starts.0 - origin)...)
  let odd = line.extracting((periods.starts.1 - origin)...)
  // `makeRow` has checked sizes; the smaller count keeps every access within its row.
  let count = min(samples.count / 2, max(min(even.count, odd.count) - 2 + step, 0) / step)
  var part = target._mutatingExtracting(samples)
  for x in 0..<count {
    unsafe part[unchecked: 2 &* x] =
      even[unchecked: step &* x] * a + even[unchecked: step &* x &+ 1] * b
    unsafe part[unchecked: 2 &* x &+ 1] =
      odd[unchecked: step &* x] * c + odd[unchecked: step &* x &+ 1] * d
  }
}

/// Those of `range`.
private func gather(
  _ line: Span<Float>, _ table: ResamplingTable, _ range: Range<Int>,
  into target: inout MutableSpan<Float>
) {
  let origin = Int32(table.span.lowerBound)
  let (starts, weights, taps) = (table.starts.span, table.weights.span, table.taps)
  // Each start and its taps lie within `table.span`, which is what `line` holds. As many numbers as the table
  // makes: `makeRow` looks.
  let range = range.clamped(to: 0..<min(target.count, table.count))
  switch taps {
  case 1:
    for x in range {
      let start = unsafe Int(starts[unchecked: x] &- origin)
      unsafe target[unchecked: x] = line[unchecked: start]
    }
  case 2:
    for x in range {
      let start = unsafe Int(starts[unchecked: x] &- origin)
      let (left, right) = unsafe (line[unchecked: start], line[unchecked: start &+ 1])
      let (near, far) = unsafe (weights[unchecked: 2 &* x], weights[unchecked: 2 &* x &+ 1])
      unsafe target[unchecked: x] = left * near + right * far
    }
  default:
    for x in range {
      let start = unsafe Int(starts[unchecked: x] &- origin)
      var sum: Float = 0
      for tap in 0..<taps {
        unsafe sum += line[unchecked: start &+ tap] * weights[unchecked: x &* taps &+ tap]
      }
      unsafe target[unchecked: x] = sum
    }
  }
}

/// Two rows in one pass.
private func blend(
  _ line: inout MutableSpan<Float>, _ near: Span<UInt8>, _ far: Span<UInt8>, _ nearWeight: Float,
  _ farWeight: Float
) {
  for x in 0..<min(line.count, min(near.count, far.count)) {
    line[x] = Float(near[x]) * nearWeight + Float(far[x]) * farWeight
  }
}

private func set(_ line: inout MutableSpan<Float>, _ row: Span<UInt8>, _ weight: Float) {
  for x in 0..<min(line.count, row.count) { line[x] = Float(row[x]) * weight }
}

private func add(_ line: inout MutableSpan<Float>, _ row: Span<UInt8>, _ weight: Float) {
  for x in 0..<min(line.count, row.count) { line[x] += Float(row[x]) * weight }
}

private func set(_ line: inout MutableSpan<Float>, _ row: Span<UInt16>, _ weight: Float) {
  for x in 0..<min(line.count, row.count) { line[x] = Float(row[x]) * weight }
}

private func add(_ line: inout MutableSpan<Float>, _ row: Span<UInt16>, _ weight: Float) {
  for x in 0..<min(line.count, row.count) { line[x] += Float(row[x]) * weight }
}
