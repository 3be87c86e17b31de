internal import SprocketPixels

// The walk over an image's bytes, from one marker to the next.

extension JPEGStructure {
  /// Reads all segments and scans, and sets what they say.
  mutating func readSegments(
    _ jpeg: Span<UInt8>, untilScan: Bool = false
  ) throws(JPEGError) {
    var next = start + 2
    while true {
      guard let at = nextMarker(jpeg, from: next) else { throw .truncated }
      if !isFill(jpeg, next..<at) { isRepaired = true }
      let marker = jpeg[at + 1]
      if marker == Marker.endOfImage { return try end(at: at + 2) }
      if marker == Marker.startOfImage {
        if scanOffset > 0 { return try end(at: at, lacksMarker: true) }
        // What came before it is no image: this one begins here.
        self = JPEGStructure(start: at, isRepaired: true)
        next = at + 2
        continue
      }
      let body = try segmentBody(jpeg, marker: marker, at: at)
      switch marker {
      case 0xC0...0xC2: try readFrameHeader(jpeg, marker: marker, body: body, at: at)
      case Marker.huffmanTables:
        if scanOffset == 0 { hasHuffmanTables = true }
      case 0xC3, 0xC5...0xCB, Marker.arithmeticConditioning, 0xCD...0xCF:
        throw .unsupportedProcess(marker: marker)
      case Marker.quantizationTables: quantizers |= tables(jpeg, body: body)
      case Marker.restartInterval:
        guard body.count == 2 else { throw .brokenSegment(marker: marker, offset: at) }
        restartInterval = twoBytes(jpeg, body.lowerBound)
      case Marker.startOfScan:
        guard width > 0 else { throw .noFrameHeader }
        guard quantizers != 0 else { throw .noQuantizationTable }
        if untilScan {
          (scanHeaderOffset, scanOffset) = (at, body.upperBound)
          return
        }
        guard let scanEnd = try readScan(jpeg, body: body, at: at) else {
          return try end(at: jpeg.count, lacksMarker: true)
        }
        next = scanEnd
        continue
      case Marker.application.lowerBound: readFieldMark(jpeg, body: body)
      case Marker.application, Marker.comment, 0xDC, 0xDE, 0xDF, 0xF0...0xFD: break
      default: throw .strayMarker(marker: marker, offset: at)
      }
      next = body.upperBound
    }
  }

  /// The tables that a DQT segment defines (T.81, B.2.4.1), a bit for each.
  private func tables(_ jpeg: Span<UInt8>, body: Range<Int>) -> UInt8 {
    var (found, start): (UInt8, Int) = (0, body.lowerBound)
    while start < body.upperBound {
      found |= 1 << (jpeg[start] & 3)
      start += jpeg[start] >> 4 == 0 ? 65 : 129
    }
    return found
  }

  /// The image ends here, with its marker or without.
  private mutating func end(at end: Int, lacksMarker: Bool = false) throws(JPEGError) {
    guard width > 0 else { throw .noFrameHeader }
    guard scanOffset > 0 else { throw .noScan }
    guard neededQuantizers & ~quantizers == 0 else { throw .noQuantizationTable }
    // A block is two codes of a bit at least; in the first of several passes it is one.
    guard scanBytes * 8 >= (isProgressive ? 1 : 2) * blocks else {
      throw lacksMarker ? .truncated : .missingData
    }
    byteCount = end
    lacksEnd = lacksMarker
    if lacksMarker { isRepaired = true }
  }

  /// "AVI1" and a byte (Microsoft, "AVI RIFF File Reference, OpenDML AVI File Format Extensions").
  private mutating func readFieldMark(_ jpeg: Span<UInt8>, body: Range<Int>) {
    guard body.count >= 5, width == 0 else { return }
    let start = body.lowerBound
    let isMark =
      jpeg[start] == 0x41 && jpeg[start + 1] == 0x56 && jpeg[start + 2] == 0x49
      && jpeg[start + 3] == 0x31
    if isMark, jpeg[start + 4] <= 2 { fieldParity = jpeg[start + 4] }
  }

  /// The frame header (T.81, B.2.2).
  private mutating func readFrameHeader(
    _ jpeg: Span<UInt8>, marker: UInt8, body: Range<Int>, at: Int
  ) throws(JPEGError) {
    guard width == 0 else { throw .twoFrameHeaders(offset: at) }
    guard body.count >= 6 else { throw .brokenSegment(marker: marker, offset: at) }
    let start = body.lowerBound
    let components = Int(jpeg[start + 5])
    guard 1...4 ~= components, body.count == 6 + 3 * components else {
      throw .brokenSegment(marker: marker, offset: at)
    }
    guard jpeg[start] == 8 else { throw .unsupportedProcess(marker: marker) }
    let (rows, columns) = (twoBytes(jpeg, start + 1), twoBytes(jpeg, start + 3))
    guard rows > 0, columns > 0 else { throw .emptyImage }
    guard rows <= 65500, columns <= 65500, rows * columns <= Self.mostPixels else {
      throw .imageTooLarge(width: columns, height: rows)
    }
    for component in 0..<components {
      let (horizontal, vertical) = factors(jpeg, start: start, component)
      guard 1...4 ~= horizontal, 1...4 ~= vertical else {
        throw .brokenSegment(marker: marker, offset: at)
      }
      maximumFactors.horizontal = max(maximumFactors.horizontal, horizontal)
      maximumFactors.vertical = max(maximumFactors.vertical, vertical)
    }
    (width, height, componentCount) = (columns, rows, components)
    for component in 0..<components {
      let own = components == 1 ? maximumFactors : factors(jpeg, start: start, component)
      blocks += self.blocks(factors: own)
      neededQuantizers |= 1 << (jpeg[start + 6 + 3 * component + 2] & 3)
    }
    isProgressive = marker == Marker.startOfFrameProgressive
    switch components {
    case 1: subsampling = .gray
    case 3:
      subsampling = ChromaSubsampling(
        luma: factors(jpeg, start: start, 0), blue: factors(jpeg, start: start, 1),
        red: factors(jpeg, start: start, 2))
    default: subsampling = nil
    }
  }

  /// A scan's header and its entropy-coded data; returns where the next marker other than a restart is,
  /// `nil` if the data ends before one.
  private mutating func readScan(
    _ jpeg: Span<UInt8>, body: Range<Int>, at header: Int
  ) throws(JPEGError) -> Int? {
    let components = body.isEmpty ? 0 : Int(jpeg[body.lowerBound])
    guard 1...4 ~= components, body.count == 4 + 2 * components else {
      throw .brokenSegment(marker: Marker.startOfScan, offset: header)
    }
    if scanOffset == 0 { (scanHeaderOffset, scanOffset) = (header, body.upperBound) }
    scanCount += 1
    guard scanCount <= Self.mostScans else { throw .tooManyScans }

    var restarts = 0
    var at = body.upperBound
    scan: while true {
      at = firstFF(jpeg, from: at)
      guard at + 1 < jpeg.count else { break }
      switch jpeg[at + 1] {
      case 0x00: at += 2
      case 0xFF: at += 1
      case Marker.restart:
        guard restartInterval > 0, Int(jpeg[at + 1] & 7) == restarts & 7 else {
          throw .restartMarkers(offset: at)
        }
        restarts += 1
        at += 2
      default: break scan
      }
    }
    let isCut = at + 1 >= jpeg.count
    if restartInterval > 0, let units = codedUnits(scanComponents: components) {
      guard restarts >= (units - 1) / restartInterval else {
        throw isCut ? .truncated : .restartMarkers(offset: at)
      }
    }
    scanBytes += at - body.upperBound
    return isCut ? nil : at
  }

  /// Minimum coded units of a scan: blocks if it has one component, interleaved units if it has all;
  /// `nil` for a scan of some of them (T.81, A.2).
  func codedUnits(scanComponents: Int) -> Int? {
    guard scanComponents == componentCount else { return nil }
    return scanComponents == 1 ? blocks(factors: maximumFactors) : interleavedUnits
  }

  /// Units of a scan of several components.
  var interleavedUnits: Int { blocks(factors: (1, 1)) }

  /// Blocks of a component with these sampling factors, without what fills up interleaved units.
  func blocks(factors: (horizontal: Int, vertical: Int)) -> Int {
    (width * factors.horizontal).sides(of: 8 * maximumFactors.horizontal)
      * (height * factors.vertical).sides(of: 8 * maximumFactors.vertical)
  }
}

extension Int {
  /// How many pieces of `side` this takes, rounded up.
  fileprivate func sides(of side: Int) -> Int { (self + side - 1) / side }
}

/// The bytes of a segment after its length. Markers without a length are out of place where this is
/// called.
private func segmentBody(
  _ jpeg: Span<UInt8>, marker: UInt8, at: Int
) throws(JPEGError) -> Range<Int> {
  switch marker {
  case 0x00...0xBF, 0xD0...0xD8: throw .strayMarker(marker: marker, offset: at)
  default: break
  }
  guard at + 4 <= jpeg.count else { throw .truncated }
  let length = twoBytes(jpeg, at + 2)
  guard length >= 2 else { throw .brokenSegment(marker: marker, offset: at) }
  guard at + 2 + length <= jpeg.count else { throw .truncated }
  return at + 4..<at + 2 + length
}

/// A component's sampling factors in the body of a frame header that begins at `start`.
private func factors(
  _ jpeg: Span<UInt8>, start: Int, _ component: Int
) -> (horizontal: Int, vertical: Int) {
  let both = Int(jpeg[start + 6 + 3 * component + 1])
  return (both >> 4, both & 15)
}
