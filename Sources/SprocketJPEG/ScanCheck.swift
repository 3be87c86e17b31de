/// A second look at an image of which the decoder said nothing but that there are extraneous bytes before
/// a marker: the library reports only the first of its warnings, so that real damage may hide behind it.
struct ScanCheck: ~Copyable {
  private let codes = HuffmanCodes()
  /// Of each component: its name, its blocks in a coded unit, and its tables.
  private var components = InlineArray<4, (identifier: UInt8, blocks: Int, dc: Int, ac: Int)>(
    repeating: (0, 0, 0, 4))
  private var componentCount = 0

  /// Whether every block of a baseline image can be read from its entropy-coded data: all codes exist
  /// and no restart interval ends too early. What is left over at the end of one does not count.
  ///
  /// True as well for what is not looked at: progressive images, and those with several scans. Costs
  /// about as much as decoding luma; allocates nothing.
  mutating func isWhole(_ jpeg: Span<UInt8>) -> Bool {
    guard let structure = try? JPEGStructure(jpeg) else { return false }
    guard !structure.isProgressive else { return true }
    guard readTables(jpeg, before: structure.scanHeaderOffset) else { return false }
    guard readScanHeader(jpeg, at: structure.scanHeaderOffset),
      let units = structure.codedUnits(scanComponents: componentCount)
    else { return true }
    return readUnits(
      jpeg, from: structure.scanOffset, to: structure.byteCount - 2, units: units,
      interval: structure.restartInterval)
  }

  /// Takes the standard tables, those in the image, and the components of its frame header.
  private mutating func readTables(_ jpeg: Span<UInt8>, before end: Int) -> Bool {
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
          components[index].blocks = componentCount == 1 ? 1 : (factors >> 4) * (factors & 15)
        }
      default: break
      }
      offset = body.upperBound
    }
    return true
  }

  /// The tables of a DHT segment's body (T.81, B.2.4.2).
  private func define(_ bytes: Span<UInt8>, _ body: Range<Int>) -> Bool {
    var start = body.lowerBound
    while start + 17 <= body.upperBound {
      let place = Int(bytes[start])
      guard place & 0xEC == 0 else { return false }
      var count = 0
      for index in 1...16 { count += Int(bytes[start + index]) }
      guard start + 17 + count <= body.upperBound,
        codes.define((place >> 4) * 4 + (place & 3), bytes, at: start + 1, symbolCount: count)
      else { return false }
      start += 17 + count
    }
    return true
  }

  /// Which tables the components use; false if the scan does not have all components in order.
  private mutating func readScanHeader(_ jpeg: Span<UInt8>, at offset: Int) -> Bool {
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
  private func readUnits(
    _ jpeg: Span<UInt8>, from start: Int, to end: Int, units: Int, interval: Int
  ) -> Bool {
    var bits = BitReader(at: start)
    var remaining = units
    while true {
      let count = interval == 0 ? remaining : min(interval, remaining)
      for _ in 0..<count {
        guard readUnit(jpeg, end, &bits) else { return false }
      }
      remaining -= count
      if remaining == 0 { return true }
      guard bits.skipToRestart(jpeg, end) else { return false }
    }
  }

  private func readUnit(_ jpeg: Span<UInt8>, _ end: Int, _ bits: inout BitReader) -> Bool {
    for index in 0..<componentCount {
      let component = components[index]
      for _ in 0..<component.blocks {
        guard bits.readSymbol(jpeg, end, codes, component.dc) >= 0 else { return false }
        var coefficient = 1
        while coefficient < 64 {
          let symbol = bits.readSymbol(jpeg, end, codes, component.ac)
          if symbol & 15 == 0, symbol != 0xF0 { break }
          if symbol < 0 { return false }
          // A run of zeros and one coefficient; F0 is sixteen zeros.
          coefficient &+= symbol &>> 4 &+ 1
        }
      }
    }
    return true
  }
}

/// Bits of entropy-coded data, with stuffed zeros taken out.
private struct BitReader {
  /// Bits that have been read and not used, the next one the highest; zeros follow.
  var bits: UInt64 = 0
  var count = 0
  /// The next byte.
  var at: Int

  init(at start: Int) { at = start }

  /// The next symbol, and away with the bits that its lower half counts; -1 if there is none, or if the
  /// data ends within it.
  @inline(__always)
  mutating func readSymbol(
    _ jpeg: Span<UInt8>, _ end: Int, _ codes: borrowing HuffmanCodes, _ table: Int
  ) -> Int {
    // A code has at most 16 bits, and at most 15 follow.
    if count < 31 { fill(jpeg, end) }
    let entry = codes.find(table, Int(truncatingIfNeeded: bits &>> 48))
    let used = (entry &>> 8) &+ (entry & 15)
    guard entry != 0, used <= count else { return -1 }
    bits = bits &<< UInt64(truncatingIfNeeded: used)
    count &-= used
    return entry & 0xFF
  }

  /// Reads bytes up to a marker, as many as fit. Called with fewer than 31 bits.
  @inline(__always)
  private mutating func fill(_ jpeg: Span<UInt8>, _ end: Int) {
    if at &+ 4 <= end {
      // In bounds: `end` is within the image.
      let word = unsafe UInt32(
        bigEndian: jpeg.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt32.self))
      // Zero where no byte is FF, see `firstFF`.
      if (~word &- 0x0101_0101) & word & 0x8080_8080 == 0 {
        bits |= UInt64(word) &<< UInt64(truncatingIfNeeded: 32 &- count)
        count &+= 32
        at &+= 4
        return
      }
    }
    fillSlowly(jpeg, end)
  }

  @inline(never)
  private mutating func fillSlowly(_ jpeg: Span<UInt8>, _ end: Int) {
    while count <= 56, at < end {
      let byte = jpeg[at]
      if byte == 0xFF {
        guard at + 1 < end, jpeg[at + 1] == 0 else { return }
        at += 1
      }
      at += 1
      bits |= UInt64(byte) &<< UInt64(truncatingIfNeeded: 56 - count)
      count += 8
    }
  }

  /// Leaves the rest of an interval and its restart marker; false if there is none.
  mutating func skipToRestart(_ jpeg: Span<UInt8>, _ end: Int) -> Bool {
    (bits, count) = (0, 0)
    while at + 1 < end {
      if jpeg[at] == 0xFF, Marker.restart ~= jpeg[at + 1] {
        at += 2
        return true
      }
      at += 1
    }
    return false
  }
}
