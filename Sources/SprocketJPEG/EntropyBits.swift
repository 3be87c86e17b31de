/// Bits of entropy-coded data, with stuffed zeros taken out. Reading stops at a marker.
struct EntropyBits {
  /// Bits that have been read and not used, the next one the highest; zeros follow.
  private var bits: UInt64 = 0
  private var count = 0
  /// The next byte.
  private(set) var at: Int

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
    drop(used)
    return entry & 0xFF
  }

  /// The next difference of two DC coefficients (T.81, F.2.2.1); `nil` if there is none.
  @inline(__always)
  mutating func readDifference(
    _ jpeg: Span<UInt8>, _ end: Int, _ codes: borrowing HuffmanCodes, _ table: Int
  ) -> Int? {
    if count < 31 { fill(jpeg, end) }
    let entry = codes.find(table, Int(truncatingIfNeeded: bits &>> 48))
    let (length, category) = (entry &>> 8, entry & 0xFF)
    // With 8 bits a sample a difference has at most 11 (T.81, table F.1).
    guard entry != 0, category <= 11, length &+ category <= count else { return nil }
    drop(length)
    guard category > 0 else { return 0 }
    let value = Int(truncatingIfNeeded: bits &>> UInt64(truncatingIfNeeded: 64 &- category))
    drop(category)
    let half = 1 &<< (category &- 1)
    return value < half ? value &- 2 &* half &+ 1 : value
  }

  /// The next bits as a number, at most 15; `nil` if the data ends before.
  mutating func read(_ number: Int, _ jpeg: Span<UInt8>, _ end: Int) -> Int? {
    if count < number { fill(jpeg, end) }
    guard number <= count else { return nil }
    guard number > 0 else { return 0 }
    let value = Int(truncatingIfNeeded: bits &>> UInt64(truncatingIfNeeded: 64 &- number))
    drop(number)
    return value
  }

  @inline(__always)
  private mutating func drop(_ number: Int) {
    bits = bits &<< UInt64(truncatingIfNeeded: number)
    count &-= number
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
    while count <= 56, let byte = nextByte(jpeg, end) {
      bits |= UInt64(byte) &<< UInt64(truncatingIfNeeded: 56 - count)
      count += 8
    }
  }

  /// Takes the next byte of data; `nil` at a marker and at the end.
  private mutating func nextByte(_ jpeg: Span<UInt8>, _ end: Int) -> UInt8? {
    guard at < end else { return nil }
    let byte = jpeg[at]
    if byte == 0xFF {
      guard at + 1 < end, jpeg[at + 1] == 0 else { return nil }
      at += 1
    }
    at += 1
    return byte
  }

  /// Goes on to the next marker, or the end, and leaves out what comes before; false if that is more than
  /// padding, which is bytes of 0 or FF, or of one value: a decoder that lost its place in damaged data
  /// leaves other bytes over.
  mutating func finish(_ jpeg: Span<UInt8>, _ end: Int) -> Bool {
    drop(count & 7)
    var (first, isPadding) = (UInt8?.none, true)
    while true {
      var byte = UInt8(truncatingIfNeeded: bits &>> 56)
      if count > 0 {
        drop(8)
      } else {
        guard let next = nextByte(jpeg, end) else { break }
        byte = next
      }
      if byte != 0, byte != 0xFF, byte != first ?? byte { isPadding = false }
      first = first ?? byte
    }
    (bits, count) = (0, 0)
    while at + 1 < end, jpeg[at] == 0xFF, jpeg[at + 1] == 0xFF { at += 1 }
    return isPadding
  }

  /// Takes a restart marker; false if there is none.
  mutating func takeRestart(_ jpeg: Span<UInt8>, _ end: Int) -> Bool {
    guard at + 1 < end, jpeg[at] == 0xFF, Marker.restart ~= jpeg[at + 1] else { return false }
    at += 2
    return true
  }
}
