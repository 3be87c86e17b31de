internal import SprocketCore

/// The samples of a row of a mosaic as words. `words` has room for whole groups of packed pixels.
func unpackRow(
  _ row: Span<UInt8>, _ samples: BayerSamples, width: Int, into words: inout [UInt16]
) {
  let row = row.extracting(first: samples.bytesPerRow(width: width))
  var words = words.mutableSpan
  switch samples {
  case .eight: unpackBytes(row, into: &words)
  case .packedTen: unpackTen(row, into: &words)
  case .packedTwelve: unpackTwelve(row, into: &words)
  case .ten, .twelve, .sixteen: break
  }
}

private func unpackBytes(_ row: Span<UInt8>, into words: inout MutableSpan<UInt16>) {
  let count = row.count
  precondition(words.count >= count)
  for i in 0..<count { words[i] = UInt16(row[i]) }
}

private func unpackTen(_ row: Span<UInt8>, into words: inout MutableSpan<UInt16>) {
  let count = row.count / 5
  precondition(words.count >= 4 &* count)
  for i in 0..<count {
    let low = UInt16(row[5 &* i &+ 4])
    words[4 &* i] = UInt16(row[5 &* i]) &<< 2 | low & 3
    words[4 &* i &+ 1] = UInt16(row[5 &* i &+ 1]) &<< 2 | low &>> 2 & 3
    words[4 &* i &+ 2] = UInt16(row[5 &* i &+ 2]) &<< 2 | low &>> 4 & 3
    words[4 &* i &+ 3] = UInt16(row[5 &* i &+ 3]) &<< 2 | low &>> 6
  }
}

private func unpackTwelve(_ row: Span<UInt8>, into words: inout MutableSpan<UInt16>) {
  let count = row.count / 3
  precondition(words.count >= 2 &* count)
  for i in 0..<count {
    let low = UInt16(row[3 &* i &+ 2])
    words[2 &* i] = UInt16(row[3 &* i]) &<< 4 | low & 15
    words[2 &* i &+ 1] = UInt16(row[3 &* i &+ 1]) &<< 4 | low &>> 4
  }
}

/// How a sensor's samples become numbers of the picture's scale: black is taken off, the rest multiplied, and
/// what is beyond 0 or `white` is clipped.
struct SampleScale {
  let black, even, odd, white: Float
}

/// Spreads samples over a line (see `Demosaic`): even columns, then odd ones, each from its second place on.
/// The line is at `place` in `lines`.
func spread(
  _ words: Span<UInt16>, _ scale: SampleScale, into lines: inout [Float], _ place: Range<Int>
) {
  let width = words.count
  var lines = lines.mutableSpan
  var line = lines._mutatingExtracting(place)
  let size = line.count / 2
  precondition(size == (width + 1) / 2 + 2)
  let pairs = width / 2
  let whole = words.extracting(first: 2 * pairs)
  var even = line._mutatingExtracting(1..<1 + pairs)
  takeEven(whole, scale.black, scale.even, scale.white, into: &even)
  var odd = line._mutatingExtracting(size + 1..<size + 1 + pairs)
  takeOdd(whole, scale.black, scale.odd, scale.white, into: &odd)
  if width % 2 == 1 {
    let last = Float(Int32(words[width - 1]))
    line[1 + pairs] = limited((last - scale.black) * scale.even, scale.white)
  }
  mirrorEnds(&line, width: width)
}

/// The same of the first `count` words.
func spread(
  _ words: [UInt16], count: Int, _ scale: SampleScale, into lines: inout [Float],
  _ place: Range<Int>
) {
  spread(words.span.extracting(first: count), scale, into: &lines, place)
}

// Every other sample. That there are just twice as many lets the compiler leave out the checks of indices.

private func takeEven(
  _ words: Span<UInt16>, _ black: Float, _ factor: Float, _ white: Float,
  into out: inout MutableSpan<Float>
) {
  let count = out.count
  precondition(words.count == 2 &* count)
  for i in 0..<count {
    out[i] = limited((Float(Int32(words[2 &* i])) - black) * factor, white)
  }
}

private func takeOdd(
  _ words: Span<UInt16>, _ black: Float, _ factor: Float, _ white: Float,
  into out: inout MutableSpan<Float>
) {
  let count = out.count
  precondition(words.count == 2 &* count)
  for i in 0..<count {
    out[i] = limited((Float(Int32(words[2 &* i &+ 1])) - black) * factor, white)
  }
}

/// Fills the first and the last place of a line's columns.
private func mirrorEnds(_ line: inout MutableSpan<Float>, width: Int) {
  let size = line.count / 2
  func place(_ column: Int) -> Int { (column & 1) * size + 1 + (column >> 1) }
  // The last place of the odd columns but one is beyond a mosaic of odd width.
  func fill(_ column: Int) { line[place(column)] = line[place(mirrored(column, width))] }
  fill(-2)
  fill(-1)
  fill(width)
  fill(2 * size - 4)
  fill(2 * size - 3)
}
