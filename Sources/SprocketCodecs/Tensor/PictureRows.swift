internal import SprocketCore

/// Converts whole pictures from 8-bit 4:2:0 and 4:2:2 to RGB or BGR bytes. It accepts any matrix and range,
/// and chroma at the center or at the left.
///
/// Numbers have 16 bits, 5 of them behind the point, and are rounded once: at most one level from
/// `RegionPacker`, which computes in floating point. Formulas as in `TensorColor`; chroma between two samples
/// is weighted by its distance from them. One instance serves one thread.
struct PictureRows {
  private let width: Int
  private let height: Int
  private let isHalfHeight: Bool
  private let isCentered: Bool
  private let redFirst: Bool
  private let gains: RowGains
  private var luma: RowOfLuma
  private var channels: RowOfChannels

  /// `nil` for other pictures.
  init?(_ plan: TensorPlan) {
    let (format, settings) = (plan.format, plan.settings)
    guard plan.isPlainPicture, let image = format.image, !image.isDeep,
      settings.usedChannels != .gray, settings.usedOrder == .nhwc,
      format.color.chromaSite != .topLeft, settings.filter != .lanczos,
      image.subsampling == .yuv420 || image.subsampling == .yuv422
    else { return nil }
    (width, height) = (format.width, format.height)
    isHalfHeight = image.subsampling == .yuv420
    isCentered = format.color.chromaSite == .center
    redFirst = settings.usedChannels == .rgb
    gains = RowGains(
      TensorColor.weights(settings.matrix, format.color.matrix),
      isFull: format.color.range == .full)
    let columns = (width + 1) / 2
    luma = RowOfLuma(columns)
    channels = RowOfChannels(columns)
  }

  /// Fills the first bytes of `bytes` with the picture.
  mutating func pack(_ image: borrowing ImageView, into bytes: inout MutableSpan<UInt8>) {
    for row in 0..<height {
      let near = isHalfHeight ? row / 2 : row
      // A row of luma lies a quarter of a row of chroma from the nearer one.
      let other = min(max(near + (row % 2 == 0 ? -1 : 1), 0), image[plane: 1].rows - 1)
      let far = isHalfHeight ? other : near
      channels.setChroma(
        image[plane: 1][row: near], image[plane: 1][row: far], image[plane: 2][row: near],
        image[plane: 2][row: far], gains)
      luma.set(image[plane: 0][row: row], gains)
      channels.make(luma, isCentered: isCentered)
      var target = bytes._mutatingExtracting(3 * width * row..<3 * width * (row + 1))
      if redFirst {
        interleave(channels.red.bytes, channels.green.bytes, channels.blue.bytes, into: &target)
      } else {
        interleave(channels.blue.bytes, channels.green.bytes, channels.red.bytes, into: &target)
      }
    }
  }
}

/// Holds the part of each channel that luma gives, for a row, with 5 bits behind the point. Two pixels share
/// their chroma: one array has the left pixels, the other the right ones.
private struct RowOfLuma {
  private(set) var left: [Int16]
  private(set) var right: [Int16]

  init(_ columns: Int) {
    left = Array(repeating: 0, count: columns)
    right = left
  }

  /// The last pixel of an odd row is taken twice.
  mutating func set(_ row: Span<UInt8>, _ gains: RowGains) {
    splitLuma(row, gains, &left, &right)
  }
}

private struct RowOfChannels {
  var red: RowOfChannel
  var green: RowOfChannel
  var blue: RowOfChannel

  init(_ columns: Int) {
    (red, green, blue) = (RowOfChannel(columns), RowOfChannel(columns), RowOfChannel(columns))
  }

  mutating func setChroma(
    _ uNear: Span<UInt8>, _ uFar: Span<UInt8>, _ vNear: Span<UInt8>, _ vFar: Span<UInt8>,
    _ gains: RowGains
  ) {
    makeTerms(uNear, uFar, vNear, vFar, gains, &red.halves, &green.halves, &blue.halves)
  }

  mutating func make(_ luma: RowOfLuma, isCentered: Bool) {
    red.make(luma, isCentered: isCentered)
    green.make(luma, isCentered: isCentered)
    blue.make(luma, isCentered: isCentered)
  }
}

/// One channel of a row.
private struct RowOfChannel {
  /// Terms that chroma adds, with 5 bits behind the point: at its columns, and one more on either side.
  var halves: [Int16]
  private(set) var bytes: [UInt8]

  init(_ columns: Int) {
    halves = Array(repeating: 0, count: columns + 2)
    bytes = Array(repeating: 0, count: 2 * columns)
  }

  mutating func make(_ luma: RowOfLuma, isCentered: Bool) {
    if isCentered {
      addFromMiddle(luma, halves, into: &bytes)
    } else {
      addFromLeft(luma, halves, into: &bytes)
    }
  }
}

/// Factors of luma and chroma.
private struct RowGains {
  /// Luma that is black.
  let zero: Int16
  /// Has 14 bits behind the point.
  let luma: Int16
  /// These have 13 bits behind the point.
  let redV: Int16
  let greenU: Int16
  let greenV: Int16
  let blueU: Int16

  init(_ weights: (red: Double, blue: Double), isFull: Bool) {
    let (red, blue) = weights
    let green = 1 - red - blue
    func gain(_ factor: Double) -> Int16 {
      Int16((factor * (isFull ? 1 : 255.0 / 224) * 8192).rounded())
    }
    zero = isFull ? 0 : 16
    luma = Int16(((isFull ? 1 : 255.0 / 219) * 16384).rounded())
    redV = gain(2 * (1 - red))
    greenU = gain(-2 * blue * (1 - blue) / green)
    greenV = gain(-2 * red * (1 - red) / green)
    blueU = gain(2 * (1 - blue))
  }
}

/// The upper half of a product: one instruction for sixteen numbers.
@inline(__always)
private func product(_ a: Int16, _ b: Int16) -> Int16 {
  Int16(truncatingIfNeeded: (Int32(a) &* Int32(b)) &>> 16)
}

/// Chroma of a row of luma, three parts of the nearer row and one of the other, times the gains.
@inline(never)
private func makeTerms(
  _ uNear: Span<UInt8>, _ uFar: Span<UInt8>, _ vNear: Span<UInt8>, _ vFar: Span<UInt8>,
  _ gains: RowGains, _ red: inout [Int16], _ green: inout [Int16], _ blue: inout [Int16]
) {
  let count = uNear.count
  var redTerms = red.mutableSpan
  var greenTerms = green.mutableSpan
  var blueTerms = blue.mutableSpan
  precondition(
    uFar.count == count && vNear.count == count && vFar.count == count
      && redTerms.count == count + 2 && greenTerms.count == count + 2
      && blueTerms.count == count + 2)
  for k in 0..<count {
    let u = (3 &* Int16(uNear[k]) &+ Int16(uFar[k]) &- 512) &<< 6
    let v = (3 &* Int16(vNear[k]) &+ Int16(vFar[k]) &- 512) &<< 6
    redTerms[k &+ 1] = product(v, gains.redV)
    greenTerms[k &+ 1] = product(u, gains.greenU) &+ product(v, gains.greenV)
    blueTerms[k &+ 1] = product(u, gains.blueU)
  }
  // Chroma goes on beyond the edges as it is there.
  for index in [0, count + 1] {
    let edge = min(max(index, 1), count)
    (redTerms[index], greenTerms[index], blueTerms[index]) = (
      redTerms[edge], greenTerms[edge], blueTerms[edge]
    )
  }
}

/// Returns the part of a level that luma gives. 17 rounds the sum with chroma, and makes up for the two
/// products, which are cut off.
@inline(__always)
private func lumaTerm(_ level: UInt8, _ gains: RowGains) -> Int16 {
  product((Int16(level) &- gains.zero) &<< 7, gains.luma) &+ 17
}

@inline(never)
private func splitLuma(
  _ row: Span<UInt8>, _ gains: RowGains, _ left: inout [Int16], _ right: inout [Int16]
) {
  let pairs = row.count / 2
  var lefts = left.mutableSpan
  var rights = right.mutableSpan
  precondition(lefts.count == (row.count + 1) / 2 && rights.count == lefts.count)
  for k in 0..<pairs {
    unsafe lefts[unchecked: k] = lumaTerm(row[unchecked: 2 &* k], gains)
    unsafe rights[unchecked: k] = lumaTerm(row[unchecked: 2 &* k &+ 1], gains)
  }
  if pairs < lefts.count {
    lefts[pairs] = lumaTerm(row[2 * pairs], gains)
    rights[pairs] = lefts[pairs]
  }
}

@inline(__always)
private func level(_ sum: Int16) -> UInt8 {
  UInt8(truncatingIfNeeded: min(max(sum &>> 5, 0), 255))
}

/// Adds chroma to luma and stores one color channel of a row. Each chroma sample lies at the left of two
/// pixels (`left`).
@inline(never)
private func addFromLeft(_ luma: RowOfLuma, _ halves: [Int16], into bytes: inout [UInt8]) {
  let count = halves.count - 2
  let (own, next) = (
    halves.span.extracting(1..<count + 1), halves.span.extracting(2..<count + 2)
  )
  let (left, right) = (luma.left.span, luma.right.span)
  var target = bytes.mutableSpan
  precondition(target.count == 2 * count && left.count == count && right.count == count)
  for k in 0..<count {
    let (a, b) = unsafe (own[unchecked: k], next[unchecked: k])
    unsafe target[unchecked: 2 &* k] = level(left[unchecked: k] &+ a)
    unsafe target[unchecked: 2 &* k &+ 1] = level(right[unchecked: k] &+ (a &+ b &+ 1) &>> 1)
  }
}

/// Adds chroma to luma and stores one color channel of a row. Each chroma sample lies midway between two
/// pixels (`center`).
@inline(never)
private func addFromMiddle(_ luma: RowOfLuma, _ halves: [Int16], into bytes: inout [UInt8]) {
  let count = halves.count - 2
  let (before, own, next) = (
    halves.span.extracting(0..<count), halves.span.extracting(1..<count + 1),
    halves.span.extracting(2..<count + 2)
  )
  let (left, right) = (luma.left.span, luma.right.span)
  var target = bytes.mutableSpan
  precondition(target.count == 2 * count && left.count == count && right.count == count)
  for k in 0..<count {
    let (a, b, c) = unsafe (before[unchecked: k], own[unchecked: k], next[unchecked: k])
    unsafe target[unchecked: 2 &* k] = level(left[unchecked: k] &+ b &+ (a &- b &+ 2) &>> 2)
    unsafe target[unchecked: 2 &* k &+ 1] = level(right[unchecked: k] &+ b &+ (c &- b &+ 2) &>> 2)
  }
}

/// Three rows, as far as `target` has room for pixels.
@inline(never)
private func interleave(
  _ first: [UInt8], _ second: [UInt8], _ third: [UInt8], into target: inout MutableSpan<UInt8>
) {
  let (first, second, third) = (first.span, second.span, third.span)
  let count = target.count / 3
  precondition(first.count >= count && second.count >= count && third.count >= count)
  for x in 0..<count {
    unsafe target[unchecked: 3 &* x] = first[unchecked: x]
    unsafe target[unchecked: 3 &* x &+ 1] = second[unchecked: x]
    unsafe target[unchecked: 3 &* x &+ 2] = third[unchecked: x]
  }
}
