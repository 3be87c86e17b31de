/// The eight Huffman tables of a JPEG image, DC tables 0 to 3 and AC tables 4 to 7, made for looking
/// codes up.
///
/// Codes of up to nine bits, nearly all, are found in one step; longer ones by comparing with the
/// largest code of each length (T.81, F.2.2.3). The tables lie in memory of their own: in inline arrays
/// they were copied at every look-up, 25 times slower.
@safe
struct HuffmanCodes: ~Copyable {
  /// By table and the next nine bits: the code's length in the upper byte and its symbol in the lower;
  /// 0 for longer codes.
  private let quick: UnsafeMutableBufferPointer<UInt16>
  /// By table and length: one more than the largest code, shifted up to 16 bits; 0 where there is none.
  private let limit: UnsafeMutableBufferPointer<Int>
  /// By table and length: what to add to a code for the place of its symbol.
  private let offset: UnsafeMutableBufferPointer<Int>
  private let symbols: UnsafeMutableBufferPointer<UInt8>

  init() {
    unsafe quick = .allocate(capacity: 8 * 512)
    unsafe limit = .allocate(capacity: 8 * 17)
    unsafe offset = .allocate(capacity: 8 * 17)
    unsafe symbols = .allocate(capacity: 8 * 256)
    unsafe quick.initialize(repeating: 0)
    unsafe limit.initialize(repeating: 0)
    unsafe offset.initialize(repeating: 0)
    unsafe symbols.initialize(repeating: 0)
  }

  deinit {
    unsafe quick.deallocate()
    unsafe limit.deallocate()
    unsafe offset.deallocate()
    unsafe symbols.deallocate()
  }

  /// Defines a table by the bytes in a DHT segment: 16 counts at `start` and `symbolCount` symbols
  /// after them. False if there are more codes than there can be.
  func define(_ table: Int, _ bytes: Span<UInt8>, at start: Int, symbolCount: Int) -> Bool {
    precondition(0..<8 ~= table, "a JPEG image has eight Huffman tables")
    guard symbolCount <= 256 else { return false }
    for index in 0..<symbolCount {
      unsafe symbols[table * 256 + index] = bytes[start + 16 + index]
    }
    for index in 0..<512 { unsafe quick[table * 512 + index] = 0 }
    var (code, next) = (0, 0)
    for length in 1...16 {
      let count = Int(bytes[start + length - 1])
      guard code + count <= 1 << length, next + count <= symbolCount else { return false }
      unsafe offset[table * 17 + length] = next - code
      if length <= 9 {
        for index in 0..<count {
          let symbol = unsafe symbols[table * 256 + next + index]
          let first = (code + index) << (9 - length)
          for slot in first..<first + 1 << (9 - length) {
            unsafe quick[table * 512 + slot] = UInt16(length) << 8 | UInt16(symbol)
          }
        }
      }
      code += count
      next += count
      unsafe limit[table * 17 + length] = count > 0 ? code << (16 - length) : 0
      code <<= 1
    }
    return true
  }

  /// The code that 16 bits begin with: its length in the upper byte and its symbol in the lower; 0 if
  /// they begin with none. `table` is 0 to 7.
  @inline(__always)
  func find(_ table: Int, _ bits: Int) -> Int {
    // In bounds: 16 bits shifted by 7 are below 512.
    let entry = unsafe quick[table &* 512 &+ bits &>> 7]
    return entry != 0 ? Int(entry) : findLong(table, bits)
  }

  @inline(never)
  private func findLong(_ table: Int, _ bits: Int) -> Int {
    for length in 10...16 {
      guard unsafe bits < limit[table * 17 + length] else { continue }
      let place = unsafe bits >> (16 - length) + offset[table * 17 + length]
      guard 0..<256 ~= place else { return 0 }
      return unsafe length << 8 | Int(symbols[table * 256 + place])
    }
    return 0
  }
}
