internal import SprocketCore
internal import SprocketFiles

/// A message of Protocol Buffers that is put together once (protobuf.dev, "Encoding").
struct ProtobufMessage {
  enum WireType: UInt8 {
    case number = 0
    case bytes = 2
    case fixed32 = 5
  }

  private(set) var bytes: [UInt8] = []

  mutating func add(_ field: Int, _ number: UInt64) {
    bytes += Self.tag(field, .number) + Self.varint(number)
  }

  mutating func add(_ field: Int, fixed number: UInt32) {
    bytes += Self.tag(field, .fixed32)
    for shift in stride(from: 0, to: 32, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(shift)))
    }
  }

  mutating func add(_ field: Int, _ text: String) { add(field, Array(text.utf8)) }

  mutating func add(_ field: Int, _ message: ProtobufMessage) { add(field, message.bytes) }

  private mutating func add(_ field: Int, _ content: [UInt8]) {
    bytes += Self.tag(field, .bytes) + Self.varint(UInt64(content.count)) + content
  }

  static func tag(_ field: Int, _ type: WireType) -> [UInt8] { [tagByte(field, type)] }

  /// All fields that are written here have numbers below 16, whose tag is one byte.
  static func tagByte(_ field: Int, _ type: WireType) -> UInt8 {
    precondition((1..<16).contains(field), "a tag of one byte holds the fields 1 to 15")
    return UInt8(field) << 3 | type.rawValue
  }

  private static func varint(_ number: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  /// Bytes that a number takes.
  static func length(_ number: UInt64) -> Int { max(1, (70 - number.leadingZeroBitCount) / 7) }
}

extension TextTarget where Self: ~Copyable {
  /// Appends a number in groups of seven bits, the lowest first.
  mutating func append(varint number: UInt64) throws(RunError) {
    var rest = number
    while rest >= 0x80 {
      try append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    try append(UInt8(rest))
  }
}
