import TestExpectations
import TestSupport
import Testing

@testable import SprocketMCAP

@Suite struct JSONScannerTests {
  /// Whether one value fills the text.
  func isRead(_ text: String) -> Bool {
    let bytes = Array("[\(text)]".utf8)
    var json = JSONScanner()
    do throws(JSONScanner.Failure) {
      try json.begin("[", bytes.span)
      while try json.nextElement(bytes.span) { try json.skip(bytes.span) }
      return true
    } catch {
      return false
    }
  }

  @Test(arguments: [
    "", "1", "-1.5e9", "true, false , null", #""a\"b\\""#, "{}", #"{"a":{"b":[[],{}]},"c":1}"#,
    "\n\t[ 1 , 2 ]\r",
  ]) func whatIsJSONIsRead(text: String) { expectTrue(isRead(text)) }

  @Test(arguments: [
    "{", "}", "[", #""abc"#, #""abc\"#, "{1:2}", #"{"a"}"#, #"{"a":}"#, "1,", #"{"a":1,}"#, "nul",
    "tru", "x", #"{"a" 1}"#,
  ]) func whatIsNotIsRefused(text: String) { expectFalse(isRead(text)) }

  @Test func depthIsLimited() {
    expectTrue(isRead(String(repeating: "[", count: 30) + String(repeating: "]", count: 30)))
    expectFalse(isRead(String(repeating: "[", count: 40) + String(repeating: "]", count: 40)))
    expectFalse(isRead(String(repeating: "[", count: 1_000_000)))
  }

  @Test func numbersAreExact() throws {
    let bytes = Array("[18446744073709551615,-9223372036854775808,0.1,null,1.5,300]".utf8)
    var json = JSONScanner()
    try json.begin("[", bytes.span)
    func next() throws { try expectTrue(json.nextElement(bytes.span)) }
    try next()
    try expectEqual(json.integer(UInt64.self, bytes.span), .max)
    try next()
    try expectEqual(json.integer(Int64.self, bytes.span), .min)
    try next()
    try expectEqual(json.number(bytes.span), 0.1)
    try next()
    try expectNil(json.number(bytes.span))
    try next()
    #expect(throws: JSONScanner.Failure.self) { try json.integer(Int.self, bytes.span) }
    try expectTrue(json.nextElement(bytes.span))
    #expect(throws: JSONScanner.Failure.self) { try json.integer(UInt8.self, bytes.span) }
  }
}
