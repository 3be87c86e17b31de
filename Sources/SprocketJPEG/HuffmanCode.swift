/// A Huffman table of a JPEG image, made for looking codes up.
///
/// Codes of up to nine bits, nearly all, are found in one step; longer ones by comparing with the
/// largest code of each length (T.81, F.2.2.3).
struct HuffmanCode {
  /// By the next nine bits: the code's length in the upper byte and its symbol in the lower; 0 for
  /// longer codes.
  private var quick = InlineArray<512, UInt16>(repeating: 0)
  /// By length: one more than the largest code, shifted up to 16 bits; 0 where there is none.
  private var limit = InlineArray<17, UInt32>(repeating: 0)
  /// By length: what to add to a code for the place of its symbol.
  private var offset = InlineArray<17, Int>(repeating: 0)
  private var symbols = InlineArray<256, UInt8>(repeating: 0)

  /// A table that was never defined: it has no codes.
  init() {}

  /// From the bytes of a table definition: 16 counts at `start` and the symbols after them. `nil` if
  /// there are more codes than there can be.
  init?(_ bytes: Span<UInt8>, at start: Int, symbolCount: Int) {
    guard symbolCount <= 256 else { return nil }
    for index in 0..<symbolCount { symbols[index] = bytes[start + 16 + index] }
    var code = 0
    var next = 0
    for length in 1...16 {
      let count = Int(bytes[start + length - 1])
      offset[length] = next - code
      guard code + count <= 1 << length else { return nil }
      if length <= 9 {
        for index in 0..<count {
          let entry = UInt16(length) << 8 | UInt16(symbols[next + index])
          let first = (code + index) << (9 - length)
          for slot in first..<first + 1 << (9 - length) { quick[slot] = entry }
        }
      }
      code += count
      next += count
      if count > 0 { limit[length] = UInt32(code) << (16 - UInt32(length)) }
      code <<= 1
    }
  }

  /// The length and symbol of the code that 16 bits begin with; `nil` if it is none.
  @inline(__always)
  func find(_ bits: UInt32) -> (length: Int, symbol: UInt8)? {
    let entry = quick[Int(bits >> 7)]
    if entry != 0 { return (Int(entry >> 8), UInt8(truncatingIfNeeded: entry)) }
    return findLong(bits)
  }

  private func findLong(_ bits: UInt32) -> (length: Int, symbol: UInt8)? {
    for length in 10...16 where bits < limit[length] {
      let place = Int(bits >> (16 - UInt32(length))) + offset[length]
      guard 0..<256 ~= place else { return nil }
      return (length, symbols[place])
    }
    return nil
  }
}
