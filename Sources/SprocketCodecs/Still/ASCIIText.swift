/// A text of ASCII characters that is made anew for each frame, in memory that stays.
package struct ASCIIText: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init(capacity: Int) { bytes.reserveCapacity(capacity) }

  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  package mutating func append(_ text: StaticString) {
    for index in 0..<text.utf8CodeUnitCount { bytes.append(unsafe text.utf8Start[index]) }
  }

  package mutating func append(_ text: [UInt8]) {
    for index in text.indices { bytes.append(text[index]) }
  }

  /// With zeros in front, up to that many digits.
  package mutating func append(_ number: UInt64, digits: Int = 1) {
    var divisor: UInt64 = 1
    var count = 1
    while count < 20, count < digits || number / divisor >= 10 {
      divisor *= 10
      count += 1
    }
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
      divisor /= 10
    }
  }

  /// With six decimals. What is larger than 10^12, or no number, becomes `null`.
  package mutating func append(_ number: Double) {
    guard abs(number) < 1e12 else { return append("null") }
    let millionths = Int64((number * 1e6).rounded())
    if millionths < 0 { append("-") }
    append(millionths.magnitude / 1_000_000)
    append(".")
    append(millionths.magnitude % 1_000_000, digits: 6)
  }
}
