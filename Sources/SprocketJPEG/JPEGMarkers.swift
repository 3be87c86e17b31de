/// The second bytes of the markers that matter here (T.81, table B.1).
enum Marker {
  static let startOfFrameBaseline: UInt8 = 0xC0
  static let startOfFrameExtended: UInt8 = 0xC1
  static let startOfFrameProgressive: UInt8 = 0xC2
  static let huffmanTables: UInt8 = 0xC4
  static let arithmeticConditioning: UInt8 = 0xCC
  static let restart: ClosedRange<UInt8> = 0xD0...0xD7
  static let startOfImage: UInt8 = 0xD8
  static let endOfImage: UInt8 = 0xD9
  static let startOfScan: UInt8 = 0xDA
  static let quantizationTables: UInt8 = 0xDB
  static let restartInterval: UInt8 = 0xDD
  static let application: ClosedRange<UInt8> = 0xE0...0xEF
  static let comment: UInt8 = 0xFE
}

/// The place of the last FF of the next marker at or after `start`; `nil` if none comes. It may have fill
/// bytes before it (T.81, B.1.1.2). Bytes that are no marker, FF00 among them, are passed over, as
/// libjpeg does.
func nextMarker(_ jpeg: Span<UInt8>, from start: Int) -> Int? {
  var at = start
  while true {
    at = firstFF(jpeg, from: at)
    guard at + 1 < jpeg.count else { return nil }
    if jpeg[at + 1] != 0, jpeg[at + 1] != 0xFF { return at }
    at += 1
  }
}

/// Where a scan's entropy-coded data ends, from a place within it: at the next marker that is none of a
/// restart, or behind the last byte.
func scanEnd(_ jpeg: Span<UInt8>, from start: Int) -> Int {
  var at = start
  while let marker = nextMarker(jpeg, from: at) {
    guard Marker.restart ~= jpeg[marker + 1] else { return marker }
    at = marker + 2
  }
  return jpeg.count
}

/// Whether the bytes of a range are all FF.
func isFill(_ jpeg: Span<UInt8>, _ range: Range<Int>) -> Bool {
  for at in range where jpeg[at] != 0xFF { return false }
  return true
}

/// Where an image's end marker begins, found from the end of its data: before bytes that are 0 or FF.
/// `nil` where there is none.
func endMarker(_ jpeg: Span<UInt8>) -> Int? {
  var end = jpeg.count
  while end > 0, jpeg[end - 1] == 0 || jpeg[end - 1] == 0xFF { end -= 1 }
  guard end >= 2, jpeg[end - 1] == Marker.endOfImage, jpeg[end - 2] == 0xFF else { return nil }
  return end - 2
}

func twoBytes(_ jpeg: Span<UInt8>, _ at: Int) -> Int {
  Int(jpeg[at]) << 8 | Int(jpeg[at + 1])
}

/// The first FF at or after `start`, or the number of bytes. In entropy-coded data one comes every
/// two hundred bytes or so, hence eight at a time.
@inline(__always)
func firstFF(_ jpeg: Span<UInt8>, from start: Int) -> Int {
  let bytes = unsafe jpeg.bytes
  var at = start
  while at &+ 8 <= jpeg.count {
    // In bounds by the line above. The lowest bit that is set in `marks` is the highest of the first
    // byte that is FF (that is, zero in `word`); Mycroft 1987.
    let word = unsafe ~UInt64(
      littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self))
    let marks = (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
    if marks != 0 { return at &+ marks.trailingZeroBitCount &>> 3 }
    at &+= 8
  }
  while at < jpeg.count, jpeg[at] != 0xFF { at &+= 1 }
  return at
}
