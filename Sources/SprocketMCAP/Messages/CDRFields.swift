/// Walks over the fields of a message in CDR, as ROS 2 has it (OMG, "DDS-XTypes", 7.4.3, plain CDR version
/// 1), which may be foreign or damaged. Each call is given the same bytes.
package struct CDRFields {
  private let isBig: Bool
  /// Behind the four bytes of the header, from which fields are aligned.
  private var position = 4

  /// `nil` where the header is of another encoding.
  package init?(_ bytes: Span<UInt8>) {
    guard bytes.count >= 4, bytes[0] == 0, bytes[1] <= 1 else { return nil }
    isBig = bytes[1] == 0
  }

  package mutating func byte(_ bytes: Span<UInt8>) -> UInt8? {
    guard position < bytes.count else { return nil }
    position += 1
    return bytes[position - 1]
  }

  /// A number of 32 bits.
  package mutating func word(_ bytes: Span<UInt8>) -> UInt32? {
    position = (position + 3) & ~3
    guard position <= bytes.count - 4 else { return nil }
    position += 4
    let start = position - 4
    return (0..<4).reduce(0) { $0 << 8 | UInt32(bytes[start + (isBig ? $1 : 3 - $1)]) }
  }

  /// Where a sequence of bytes lies.
  package mutating func bytes(_ bytes: Span<UInt8>) -> Range<Int>? {
    guard let count = word(bytes), Int(count) <= bytes.count - position else { return nil }
    position += Int(count)
    return position - Int(count)..<position
  }

  /// Where a text lies, without its closing zero.
  package mutating func text(_ bytes: Span<UInt8>) -> Range<Int>? {
    guard let range = self.bytes(bytes) else { return nil }
    return range.isEmpty ? range : range.lowerBound..<range.upperBound - 1
  }
}
