// Sixteen samples at a time, by operations that become one instruction each with AVX2.
//
// Lanes are spelled out one by one where a loop over them, or the standard library's conversions,
// are not vectorised by Swift 6.3.

import SprocketCore

/// Sixteen samples of a row, or of a column.
typealias Lanes = SIMD16<Int16>

/// The upper half of each 32-bit product, rounded down (`vpmulhw`).
@inline(__always)
func highProducts(_ a: Lanes, _ b: Lanes) -> Lanes {
  Lanes(
    highProduct(a[0], b[0]), highProduct(a[1], b[1]),
    highProduct(a[2], b[2]), highProduct(a[3], b[3]),
    highProduct(a[4], b[4]), highProduct(a[5], b[5]),
    highProduct(a[6], b[6]), highProduct(a[7], b[7]),
    highProduct(a[8], b[8]), highProduct(a[9], b[9]),
    highProduct(a[10], b[10]), highProduct(a[11], b[11]),
    highProduct(a[12], b[12]), highProduct(a[13], b[13]),
    highProduct(a[14], b[14]), highProduct(a[15], b[15]))
}

@inline(__always)
private func highProduct(_ a: Int16, _ b: Int16) -> Int16 {
  Int16(truncatingIfNeeded: (Int32(a) &* Int32(b)) &>> 16)
}

/// Lanes 0 to 3 and 8 to 11 of both, in turn (`vpunpcklwd`).
@inline(__always)
private func interleavedLow(_ a: Lanes, _ b: Lanes) -> Lanes {
  Lanes(
    a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3],
    a[8], b[8], a[9], b[9], a[10], b[10], a[11], b[11])
}

/// Lanes 4 to 7 and 12 to 15 of both, in turn (`vpunpckhwd`).
@inline(__always)
private func interleavedHigh(_ a: Lanes, _ b: Lanes) -> Lanes {
  Lanes(
    a[4], b[4], a[5], b[5], a[6], b[6], a[7], b[7],
    a[12], b[12], a[13], b[13], a[14], b[14], a[15], b[15])
}

@inline(__always)
func lowHalves(_ a: Lanes, _ b: Lanes) -> Lanes {
  Lanes(
    a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7])
}

@inline(__always)
func highHalves(_ a: Lanes, _ b: Lanes) -> Lanes {
  Lanes(
    a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
    b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15])
}

/// A square of 16 by 16.
typealias Square = InlineArray<16, Lanes>

/// Transposes a square.
@inline(__always)
func transpose(_ square: inout Square, into target: inout MutableSpan<Lanes>, at start: Int) {
  shuffle(&square)
  shuffle(&square)
  shuffle(&square)
  // All four squares of 8 by 8 are transposed; the two that remain change places.
  var columns = target._mutatingExtracting(start..<start &+ 16)
  for column in 0..<8 {
    columns[column] = lowHalves(square[column], square[column &+ 8])
    columns[column &+ 8] = highHalves(square[column], square[column &+ 8])
  }
}

/// Within each of the four squares of 8 by 8, makes the lowest bit of a row's number the highest of the
/// lane's: three times transposes them.
///
/// Not inlined: the optimiser would look through the three, and collect each result lane by lane.
@inline(never)
private func shuffle(_ x: inout Square) {
  x = [
    interleavedLow(x[0], x[4]), interleavedHigh(x[0], x[4]),
    interleavedLow(x[1], x[5]), interleavedHigh(x[1], x[5]),
    interleavedLow(x[2], x[6]), interleavedHigh(x[2], x[6]),
    interleavedLow(x[3], x[7]), interleavedHigh(x[3], x[7]),
    interleavedLow(x[8], x[12]), interleavedHigh(x[8], x[12]),
    interleavedLow(x[9], x[13]), interleavedHigh(x[9], x[13]),
    interleavedLow(x[10], x[14]), interleavedHigh(x[10], x[14]),
    interleavedLow(x[11], x[15]), interleavedHigh(x[11], x[15]),
  ]
}

/// Sixteen bytes from `x` on, times 128; of a shorter row all, and its last for the others.
@inline(__always)
func lanes(of row: Span<UInt8>, at x: Int) -> Lanes {
  guard row.count >= 16 else {
    var lanes = Lanes()
    for lane in 0..<16 { lanes[lane] = Int16(row[min(lane, row.count &- 1)]) &<< 7 }
    return lanes
  }
  let bytes = row.extracting(x..<x &+ 16)
  return Lanes(
    Int16(bytes[0]), Int16(bytes[1]), Int16(bytes[2]), Int16(bytes[3]),
    Int16(bytes[4]), Int16(bytes[5]), Int16(bytes[6]), Int16(bytes[7]),
    Int16(bytes[8]), Int16(bytes[9]), Int16(bytes[10]), Int16(bytes[11]),
    Int16(bytes[12]), Int16(bytes[13]), Int16(bytes[14]), Int16(bytes[15])) &<< 7
}

/// Stores lanes, clamped to 0 to 255; those beyond the row's end are left out.
@inline(__always)
func store(_ lanes: Lanes, into row: inout MutableSpan<UInt8>, at x: Int) {
  guard x <= row.count &- 16 else {
    for lane in 0..<row.count &- x { row[x &+ lane] = clamped(lanes[lane]) }
    return
  }
  var bytes = row._mutatingExtracting(x..<x &+ 16)
  bytes[0] = clamped(lanes[0])
  bytes[1] = clamped(lanes[1])
  bytes[2] = clamped(lanes[2])
  bytes[3] = clamped(lanes[3])
  bytes[4] = clamped(lanes[4])
  bytes[5] = clamped(lanes[5])
  bytes[6] = clamped(lanes[6])
  bytes[7] = clamped(lanes[7])
  bytes[8] = clamped(lanes[8])
  bytes[9] = clamped(lanes[9])
  bytes[10] = clamped(lanes[10])
  bytes[11] = clamped(lanes[11])
  bytes[12] = clamped(lanes[12])
  bytes[13] = clamped(lanes[13])
  bytes[14] = clamped(lanes[14])
  bytes[15] = clamped(lanes[15])
}

@inline(__always)
func clamped(_ level: Int16) -> UInt8 {
  UInt8(truncatingIfNeeded: min(max(level, 0), 255))
}
