// Numbers as they are stored.

/// Rounds a number from 0 to 255 to the nearest. Adding 2^23 leaves the rounded number in the lowest bits.
/// A conversion to an integer checks for overflow, which keeps the compiler from vectorising the loop.
@inline(__always)
func rounded(_ number: Float) -> UInt8 {
  UInt8(truncatingIfNeeded: (number + 8_388_608).bitPattern)
}

/// Rounds a number from 0 to 65535 to the nearest.
@inline(__always)
func roundedWord(_ number: Float) -> UInt16 {
  UInt16(truncatingIfNeeded: (number + 8_388_608).bitPattern)
}

/// Half precision.
@inline(__always)
func halved(_ number: Float) -> UInt16 { Float16(number).bitPattern }

/// The upper half (bfloat16), rounded to the nearest, ties to even.
@inline(__always)
func cut(_ number: Float) -> UInt16 {
  let bits = number.bitPattern
  return UInt16(truncatingIfNeeded: (bits &+ 0x7FFF &+ (bits >> 16 & 1)) >> 16)
}

func round(_ row: [Float], into bytes: inout [UInt8]) {
  let row = row.span
  var target = bytes.mutableSpan
  precondition(target.count == row.count)
  for x in 0..<row.count { target[x] = rounded(row[x]) }
}

func round(_ row: [Float], into words: inout [UInt16]) {
  let row = row.span
  var target = words.mutableSpan
  precondition(target.count == row.count)
  for x in 0..<row.count { target[x] = roundedWord(row[x]) }
}

func halve(_ row: [Float], into words: inout [UInt16]) {
  let row = row.span
  var target = words.mutableSpan
  precondition(target.count == row.count)
  for x in 0..<row.count { target[x] = halved(row[x]) }
}

func cut(_ row: [Float], into words: inout [UInt16]) {
  let row = row.span
  var target = words.mutableSpan
  precondition(target.count == row.count)
  for x in 0..<row.count { target[x] = cut(row[x]) }
}

// Elements of one size. The compiler makes a function of its own for each type of element.

@inline(__always)
func copy<Element: BitwiseCopyable>(_ row: [Element], into target: inout MutableSpan<Element>) {
  let row = row.span
  precondition(target.count == row.count)
  for x in 0..<row.count { target[x] = row[x] }
}

/// Every `step`th element.
@inline(__always)
func fill<Element: BitwiseCopyable>(
  _ target: inout MutableSpan<Element>, with element: Element, step: Int
) {
  guard step > 1 else {
    for x in 0..<target.count { target[x] = element }
    return
  }
  // Not `stride`, whose iterator allocates in a debug build.
  var x = 0
  while x < target.count {
    target[x] = element
    x &+= step
  }
}

/// Three channels, pixel by pixel.
@inline(__always)
func interleave<Element: BitwiseCopyable>(
  _ rows: [[Element]], into target: inout MutableSpan<Element>
) {
  let (first, second, third) = (rows[0], rows[1], rows[2])
  let (a, b, c) = (first.span, second.span, third.span)
  let count = a.count
  precondition(target.count == 3 * count && b.count == count && c.count == count)
  for x in 0..<count {
    target[3 &* x] = a[x]
    target[3 &* x &+ 1] = b[x]
    target[3 &* x &+ 2] = c[x]
  }
}
