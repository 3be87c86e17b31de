/// Walks over the fields of a message in Protocol Buffers (protobuf.dev, "Encoding"), which may be foreign or
/// damaged. Each call is given the same bytes.
package struct ProtobufFields {
  package enum Value {
    case fixed32(UInt32)
    case varint(UInt64)
    /// Of the message's bytes.
    case bytes(Range<Int>)
    case other
  }

  /// All fields so far make sense.
  package private(set) var isWhole = true
  private var position = 0

  package init() {}

  /// The next field; `nil` at the end, or where the bytes make no sense.
  package mutating func next(_ bytes: Span<UInt8>) -> (number: UInt64, value: Value)? {
    guard isWhole, position < bytes.count else { return nil }
    guard let tag = varint(bytes), let value = value(tag & 7, bytes), position <= bytes.count
    else {
      isWhole = false
      return nil
    }
    return (tag >> 3, value)
  }

  private mutating func value(_ type: UInt64, _ bytes: Span<UInt8>) -> Value? {
    switch type {
    case 0: return varint(bytes).map { .varint($0) }
    case 1:
      position += 8
      return .other
    case 5:
      guard position <= bytes.count - 4 else { return nil }
      let number = (0..<4).reduce(0) { $0 | UInt32(bytes[position + $1]) << UInt32(8 * $1) }
      position += 4
      return .fixed32(number)
    case 2:
      guard let count = varint(bytes), position <= bytes.count,
        count <= UInt64(bytes.count - position)
      else { return nil }
      let range = position..<position + Int(count)
      position = range.upperBound
      return .bytes(range)
    default: return nil
    }
  }

  private mutating func varint(_ bytes: Span<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard position < bytes.count else { return nil }
      let byte = bytes[position]
      position += 1
      number |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return number }
    }
    return nil
  }
}
