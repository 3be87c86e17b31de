// 16 by 16 bytes at a time, by operations that become one instruction each.
//
// Lanes are spelled out one by one where a loop over them is not vectorised by Swift 6.3.

import SprocketCore

typealias Lanes = SIMD16<UInt8>

/// Rows of 16 bytes.
typealias ByteSquare = InlineArray<16, Lanes>

/// Lanes 0 to 7 of both, in turn (`punpcklbw`).
@inline(__always)
private func low(_ a: Lanes, _ b: Lanes) -> Lanes {
  Lanes(
    a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3],
    a[4], b[4], a[5], b[5], a[6], b[6], a[7], b[7])
}

/// Lanes 8 to 15 of both, in turn (`punpckhbw`).
@inline(__always)
private func high(_ a: Lanes, _ b: Lanes) -> Lanes {
  Lanes(
    a[8], b[8], a[9], b[9], a[10], b[10], a[11], b[11],
    a[12], b[12], a[13], b[13], a[14], b[14], a[15], b[15])
}

/// A byte's place has 8 bits, four of the row above four of the column. A shuffle moves the highest to the
/// lowest, so four of them exchange rows and columns.
func exchangeRowsAndColumns(_ square: inout ByteSquare) {
  shuffle(&square)
  shuffle(&square)
  shuffle(&square)
  shuffle(&square)
}

/// Not inlined: the optimiser would look through the four, and collect each result lane by lane.
@inline(never)
private func shuffle(_ x: inout ByteSquare) {
  x = [
    low(x[0], x[8]), high(x[0], x[8]), low(x[1], x[9]), high(x[1], x[9]),
    low(x[2], x[10]), high(x[2], x[10]), low(x[3], x[11]), high(x[3], x[11]),
    low(x[4], x[12]), high(x[4], x[12]), low(x[5], x[13]), high(x[5], x[13]),
    low(x[6], x[14]), high(x[6], x[14]), low(x[7], x[15]), high(x[7], x[15]),
  ]
}

/// Sixteen bytes from `x` on.
@inline(__always)
func lanes(of row: Span<UInt8>, at x: Int) -> Lanes {
  let bytes = row.extracting(x..<x &+ 16)
  return Lanes(
    bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
    bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15])
}

@inline(__always)
func store(_ lanes: Lanes, into row: inout MutableSpan<UInt8>, at x: Int) {
  var bytes = row._mutatingExtracting(x..<x &+ 16)
  bytes[0] = lanes[0]
  bytes[1] = lanes[1]
  bytes[2] = lanes[2]
  bytes[3] = lanes[3]
  bytes[4] = lanes[4]
  bytes[5] = lanes[5]
  bytes[6] = lanes[6]
  bytes[7] = lanes[7]
  bytes[8] = lanes[8]
  bytes[9] = lanes[9]
  bytes[10] = lanes[10]
  bytes[11] = lanes[11]
  bytes[12] = lanes[12]
  bytes[13] = lanes[13]
  bytes[14] = lanes[14]
  bytes[15] = lanes[15]
}
