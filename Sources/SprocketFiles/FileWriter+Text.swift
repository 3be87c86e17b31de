internal import CSprocketSystem
package import SprocketCore

extension TextTarget where Self: ~Copyable {
  package mutating func append(_ byte: UInt8) throws(RunError) {
    try reserve(1)
    unsafe buffer.storeBytes(of: byte, toByteOffset: used, as: UInt8.self)
    advance(1)
  }

  /// Appends a piece of program text.
  package mutating func append(_ text: StaticString) throws(RunError) {
    let count = text.utf8CodeUnitCount
    try reserve(count)
    unsafe (buffer + used).copyMemory(from: text.utf8Start, byteCount: count)
    advance(count)
  }

  /// Appends `,"key":`; with `{` instead of the comma for an object's first key.
  package mutating func append(key: StaticString, isFirst: Bool = false) throws(RunError) {
    let count = key.utf8CodeUnitCount
    try reserve(count + 4)
    let start: StaticString = isFirst ? "{\"" : ",\""
    let end: StaticString = "\":"
    unsafe (buffer + used).copyMemory(from: start.utf8Start, byteCount: 2)
    unsafe (buffer + used + 2).copyMemory(from: key.utf8Start, byteCount: count)
    unsafe (buffer + used + 2 + count).copyMemory(from: end.utf8Start, byteCount: 2)
    advance(count + 4)
  }

  package mutating func append(_ text: [UInt8]) throws(RunError) { try append(text.span) }

  /// Appends a whole number in decimal.
  package mutating func append<Number: FixedWidthInteger>(decimal number: Number) throws(RunError) {
    // 20 digits are 2^64; one more for the sign.
    try reserve(21)
    var rest = UInt64(number.magnitude)
    if number < 0 { try append(UInt8(ascii: "-")) }
    let count = Self.digits(rest)
    for position in stride(from: used + count - 1, through: used, by: -1) {
      let digit = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      unsafe buffer.storeBytes(of: digit, toByteOffset: position, as: UInt8.self)
      rest /= 10
    }
    advance(count)
  }

  /// Appends a number as JSON has it: `null` for what is not finite.
  package mutating func append(_ number: Double, digits: Int) throws(RunError) {
    guard number.isFinite else { return try append("null") }
    // 17 digits, sign, point, `e-308` and the closing zero stay below 32.
    precondition(digits <= 17, "a Double has 17 significant digits at most")
    try reserve(32)
    let out = unsafe (buffer + used).assumingMemoryBound(to: CChar.self)
    advance(Int(unsafe sprocket_format_double(out, 32, Int32(digits), number)))
  }

  /// Appends nanoseconds as microseconds with three decimals.
  package mutating func append(microsecondsFrom nanoseconds: Int64) throws(RunError) {
    if nanoseconds < 0 { try append(UInt8(ascii: "-")) }
    let magnitude = nanoseconds.magnitude
    try append(decimal: magnitude / 1000)
    let fraction = magnitude % 1000
    try append(UInt8(ascii: "."))
    if fraction < 100 { try append(UInt8(ascii: "0")) }
    if fraction < 10 { try append(UInt8(ascii: "0")) }
    try append(decimal: fraction)
  }

  /// Appends 16 hexadecimal digits.
  package mutating func append(hexadecimal number: UInt64) throws(RunError) {
    for shift in stride(from: 60, through: 0, by: -4) {
      try append(hexadecimalDigit(UInt8(truncatingIfNeeded: number >> UInt64(shift)) & 15))
    }
  }

  /// Appends UTF-8 as it stands between the quotes of a JSON string (RFC 8259, section 7).
  package mutating func append(escaped text: Span<UInt8>) throws(RunError) {
    for index in text.indices {
      let byte = text[index]
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        try append(UInt8(ascii: "\\"))
        try append(byte)
      case 0..<0x20:
        try append("\\u00")
        try append(hexadecimalDigit(byte >> 4))
        try append(hexadecimalDigit(byte & 15))
      default: try append(byte)
      }
    }
  }

  /// Appends bytes in base64 (RFC 4648, section 4).
  package mutating func append(base64 bytes: Span<UInt8>) throws(RunError) {
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let second = left > 1 ? UInt32(bytes[index + 1]) : 0
      let third = left > 2 ? UInt32(bytes[index + 2]) : 0
      let group = UInt32(bytes[index]) << 16 | second << 8 | third
      for digit in 0..<4 {
        let value = UInt8(truncatingIfNeeded: group >> UInt32(18 - 6 * digit)) & 63
        try append(digit > left ? UInt8(ascii: "=") : base64Digit(value))
      }
      index += 3
    }
  }

  private static func digits(_ number: UInt64) -> Int {
    var count = 1
    var rest = number
    while rest >= 10 {
      rest /= 10
      count += 1
    }
    return count
  }
}

/// The character of a number below 16.
package func hexadecimalDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}

/// The character of a number below 64 in base64.
private func base64Digit(_ value: UInt8) -> UInt8 {
  switch value {
  case 0..<26: UInt8(ascii: "A") + value
  case 26..<52: UInt8(ascii: "a") + value - 26
  case 52..<62: UInt8(ascii: "0") + value - 52
  case 62: UInt8(ascii: "+")
  default: UInt8(ascii: "/")
  }
}

/// `text` as a JSON string with its quotes (RFC 8259, section 7).
package func jsonString(_ text: String) -> [UInt8] {
  var bytes: [UInt8] = [UInt8(ascii: "\"")]
  for byte in text.utf8 {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
    case 0..<0x20:
      bytes += Array("\\u00".utf8) + [hexadecimalDigit(byte >> 4), hexadecimalDigit(byte & 15)]
    default: bytes.append(byte)
    }
  }
  return bytes + [UInt8(ascii: "\"")]
}
