// A second look at an image of which the decoder said nothing but that there are extraneous bytes before
// a marker: the library reports only the first of its warnings, so that real damage may hide behind it.

/// Whether every block of a baseline image can be read from its entropy-coded data: all codes exist and
/// no restart interval ends too early. What is left over at the end of an interval does not count.
///
/// True as well for what is not looked at: progressive images, and those with several scans. Costs
/// about half of decoding luma; allocates nothing.
func hasWholeScan(_ jpeg: Span<UInt8>) -> Bool {
  guard let structure = try? JPEGStructure(jpeg) else { return false }
  guard !structure.isProgressive else { return true }
  var check = ScanCheck()
  guard check.readTables(jpeg, before: structure.scanHeaderOffset) else { return false }
  guard check.readScanHeader(jpeg, at: structure.scanHeaderOffset) else { return true }
  return check.readUnits(
    jpeg, from: structure.scanOffset, to: structure.byteCount - 2, structure: structure)
}

private struct ScanCheck {
  /// DC tables 0 to 3 and AC tables 0 to 3.
  private var tables = InlineArray<8, HuffmanCode>(repeating: HuffmanCode())
  /// Of each component: blocks in a coded unit, and the tables.
  private var components = InlineArray<4, (identifier: UInt8, blocks: Int, dc: Int, ac: Int)>(
    repeating: (0, 0, 0, 0))
  private var componentCount = 0
  /// Bits that have been read and not used, the next one the highest.
  private var bits: UInt64 = 0
  private var bitCount = 0
  private var at = 0

  /// Takes the standard tables, those in the image, and the components of its frame header.
  mutating func readTables(_ jpeg: Span<UInt8>, before end: Int) -> Bool {
    let standard = JPEGHuffmanTables.standardSegment
    guard define(standard.span, 4..<standard.count) else { return false }
    var offset = 2
    while offset + 4 <= end {
      guard jpeg[offset + 1] != 0xFF else {
        offset += 1
        continue
      }
      let body = offset + 4..<offset + 2 + (Int(jpeg[offset + 2]) << 8 | Int(jpeg[offset + 3]))
      switch jpeg[offset + 1] {
      case Marker.huffmanTables: guard define(jpeg, body) else { return false }
      case Marker.startOfFrameBaseline, Marker.startOfFrameExtended:
        componentCount = Int(jpeg[body.lowerBound + 5])
        for index in 0..<componentCount {
          let start = body.lowerBound + 6 + 3 * index
          let factors = Int(jpeg[start + 1])
          components[index].identifier = jpeg[start]
          components[index].blocks =
            componentCount == 1 ? 1 : (factors >> 4) * (factors & 15)
        }
      default: break
      }
      offset = body.upperBound
    }
    return true
  }

  /// The tables of a DHT segment's body (T.81, B.2.4.2).
  private mutating func define(_ bytes: Span<UInt8>, _ body: Range<Int>) -> Bool {
    var start = body.lowerBound
    while start + 17 <= body.upperBound {
      let place = Int(bytes[start])
      guard place & 0xEC == 0 else { return false }
      var count = 0
      for index in 1...16 { count += Int(bytes[start + index]) }
      guard start + 17 + count <= body.upperBound,
        let code = HuffmanCode(bytes, at: start + 1, symbolCount: count)
      else { return false }
      tables[(place >> 4) * 4 + (place & 3)] = code
      start += 17 + count
    }
    return true
  }

  /// Which tables the components use; false if the scan does not have all components in order.
  mutating func readScanHeader(_ jpeg: Span<UInt8>, at offset: Int) -> Bool {
    guard Int(jpeg[offset + 4]) == componentCount else { return false }
    for index in 0..<componentCount {
      let selectors = Int(jpeg[offset + 6 + 2 * index])
      guard jpeg[offset + 5 + 2 * index] == components[index].identifier, selectors & 0xCC == 0
      else { return false }
      components[index].dc = selectors >> 4
      components[index].ac = 4 + selectors & 3
    }
    return true
  }

  /// Reads all coded units of the image.
  mutating func readUnits(
    _ jpeg: Span<UInt8>, from start: Int, to end: Int, structure: JPEGStructure
  ) -> Bool {
    guard var remaining = structure.codedUnits(scanComponents: componentCount) else { return true }
    at = start
    while true {
      let interval = structure.restartInterval
      let units = interval == 0 ? remaining : min(interval, remaining)
      for _ in 0..<units {
        guard readUnit(jpeg, end) else { return false }
      }
      remaining -= units
      if remaining == 0 { return true }
      // What is left of the interval, up to its restart marker.
      (bits, bitCount) = (0, 0)
      while at + 1 < end, jpeg[at] != 0xFF || !(Marker.restart ~= jpeg[at + 1]) { at += 1 }
      guard at + 1 < end else { return false }
      at += 2
    }
  }

  private mutating func readUnit(_ jpeg: Span<UInt8>, _ end: Int) -> Bool {
    for index in 0..<componentCount {
      let component = components[index]
      for _ in 0..<component.blocks {
        guard let size = readCode(jpeg, end, component.dc), skip(jpeg, end, Int(size & 15)) else {
          return false
        }
        var coefficient = 1
        while coefficient < 64 {
          guard let runAndSize = readCode(jpeg, end, component.ac) else { return false }
          let (run, size) = (Int(runAndSize >> 4), Int(runAndSize & 15))
          if size == 0 {
            guard run == 15 else { break }
            coefficient += 16
          } else {
            coefficient += run + 1
            guard skip(jpeg, end, size) else { return false }
          }
        }
      }
    }
    return true
  }

  /// The next code's symbol; `nil` if there is none, or the data ends within it.
  @inline(__always)
  private mutating func readCode(_ jpeg: Span<UInt8>, _ end: Int, _ table: Int) -> UInt8? {
    if bitCount < 16 { fill(jpeg, end) }
    guard let code = tables[table].find(UInt32(truncatingIfNeeded: bits >> 48)),
      code.length <= bitCount
    else { return nil }
    bits <<= UInt64(code.length)
    bitCount -= code.length
    return code.symbol
  }

  @inline(__always)
  private mutating func skip(_ jpeg: Span<UInt8>, _ end: Int, _ count: Int) -> Bool {
    if bitCount < count { fill(jpeg, end) }
    guard count <= bitCount else { return false }
    bits <<= UInt64(count)
    bitCount -= count
    return true
  }

  /// Reads bytes up to a marker, as many as fit.
  private mutating func fill(_ jpeg: Span<UInt8>, _ end: Int) {
    while bitCount <= 56, at < end {
      let byte = jpeg[at]
      if byte == 0xFF {
        guard at + 1 < end, jpeg[at + 1] == 0 else { return }
        at += 1
      }
      at += 1
      bits |= UInt64(byte) << UInt64(56 - bitCount)
      bitCount += 8
    }
  }
}
