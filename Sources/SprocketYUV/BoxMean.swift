public import SprocketPixels

/// Planes scaled down by the mean of boxes: what a stage that asks for luma at 1/2, 1/4 or 1/8 gets.
///
/// A sample is `(sum + count / 2) / count` over the pixels of its box, those that exist: at the right
/// and lower edge of a plane whose sides are not multiples of the box's side, they are fewer. libyuv's
/// box filter equals this for 2 and 4 but truncates for 8, and scales rather than boxes at odd sizes.
public enum BoxMean {
  /// The side of a scaled plane.
  public static func scaled(_ side: Int, by factor: Int) -> Int { (side + factor - 1) / factor }

  /// Scales a plane of `width` by `height` down by `factor`, which is 2, 4 or 8.
  public static func scale(
    _ source: PlaneBytes, width: Int, height: Int, by factor: Int, to target: MutablePlaneBytes
  ) {
    precondition(factor == 2 || factor == 4 || factor == 8, "boxes are 2, 4 or 8 wide")
    let (from, _) = unsafe source.checked(width, height)
    let (columns, rows) = (scaled(width, by: factor), scaled(height, by: factor))
    let (to, _) = unsafe target.checked(columns, rows)
    for row in 0..<rows {
      let first = row * factor
      let start = unsafe from + first * source.stride
      let output = unsafe to + row * target.stride
      let boxRows = min(factor, height - first)
      var done = 0
      if boxRows == factor {
        done =
          switch factor {
          case 2: unsafe meanRow2(start, source.stride, width, output)
          case 4: unsafe meanRow4(start, source.stride, width, output)
          default: unsafe meanRow8(start, source.stride, width, output)
          }
      }
      for column in done..<columns {
        unsafe output[column] = unsafe mean(
          start + column * factor, source.stride, min(factor, width - column * factor), boxRows)
      }
    }
  }
}

/// One box of any size, for the edges.
private func mean(
  _ start: UnsafePointer<UInt8>, _ stride: Int, _ columns: Int, _ rows: Int
) -> UInt8 {
  var sum = 0
  for row in 0..<rows {
    for column in 0..<columns { sum &+= unsafe Int(start[row &* stride &+ column]) }
  }
  let count = columns &* rows
  return UInt8(truncatingIfNeeded: (sum &+ count / 2) / count)
}

// Each of the following does as many whole boxes of a row as fill its vectors, and returns how many.
// Column sums are at most 8 * 255, box sums at most 64 * 255: 16 bits suffice.

private func meanRow2(
  _ start: UnsafePointer<UInt8>, _ stride: Int, _ width: Int, _ output: UnsafeMutablePointer<UInt8>
) -> Int {
  let count = width / 32
  for index in 0..<count {
    let at = unsafe start + index &* 32
    let sums = unsafe columnSums(at, stride, rows: 2)
    let boxes = sums.evenHalf &+ sums.oddHalf
    unsafe store((boxes &+ 2) &>> 2, output + index &* 16)
  }
  return count &* 16
}

private func meanRow4(
  _ start: UnsafePointer<UInt8>, _ stride: Int, _ width: Int, _ output: UnsafeMutablePointer<UInt8>
) -> Int {
  let count = width / 32
  for index in 0..<count {
    let at = unsafe start + index &* 32
    let sums = unsafe columnSums(at, stride, rows: 4)
    let pairs = sums.evenHalf &+ sums.oddHalf
    let boxes = pairs.evenHalf &+ pairs.oddHalf
    unsafe store((boxes &+ 8) &>> 4, output + index &* 8)
  }
  return count &* 8
}

private func meanRow8(
  _ start: UnsafePointer<UInt8>, _ stride: Int, _ width: Int, _ output: UnsafeMutablePointer<UInt8>
) -> Int {
  let count = width / 32
  for index in 0..<count {
    let at = unsafe start + index &* 32
    let sums = unsafe columnSums(at, stride, rows: 8)
    let pairs = sums.evenHalf &+ sums.oddHalf
    let quads = pairs.evenHalf &+ pairs.oddHalf
    let boxes = quads.evenHalf &+ quads.oddHalf
    unsafe store((boxes &+ 32) &>> 6, output + index &* 4)
  }
  return count &* 4
}

/// Sums of 32 columns over `rows` rows.
@inline(__always)
private func columnSums(
  _ start: UnsafePointer<UInt8>, _ stride: Int, rows: Int
) -> SIMD32<UInt16> {
  var sums = SIMD32<UInt16>()
  for row in 0..<rows {
    let bytes = unsafe UnsafeRawPointer(start + row &* stride).loadUnaligned(
      as: SIMD32<UInt8>.self)
    sums &+= SIMD32<UInt16>(truncatingIfNeeded: bytes)
  }
  return sums
}

@inline(__always)
private func store(_ boxes: SIMD16<UInt16>, _ output: UnsafeMutablePointer<UInt8>) {
  unsafe UnsafeMutableRawPointer(output).storeBytes(
    of: SIMD16<UInt8>(truncatingIfNeeded: boxes), as: SIMD16<UInt8>.self)
}

@inline(__always)
private func store(_ boxes: SIMD8<UInt16>, _ output: UnsafeMutablePointer<UInt8>) {
  unsafe UnsafeMutableRawPointer(output).storeBytes(
    of: SIMD8<UInt8>(truncatingIfNeeded: boxes), as: SIMD8<UInt8>.self)
}

@inline(__always)
private func store(_ boxes: SIMD4<UInt16>, _ output: UnsafeMutablePointer<UInt8>) {
  unsafe UnsafeMutableRawPointer(output).storeBytes(
    of: SIMD4<UInt8>(truncatingIfNeeded: boxes), as: SIMD4<UInt8>.self)
}
