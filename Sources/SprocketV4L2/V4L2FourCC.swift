/// V4L2's four-character code of a pixel format.
public struct V4L2FourCC: Hashable, Sendable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Shorter texts end in spaces.
  public init(_ text: String) {
    let bytes = Array(text.utf8.prefix(4)) + [UInt8](repeating: 0x20, count: 4)
    rawValue = bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Four characters; `-BE` behind them where bit 31 says that samples are big-endian, `?` for what
  /// nobody can print.
  public var text: String {
    let isBigEndian = rawValue & 1 << 31 != 0
    let characters = (0..<4).map { index -> Character in
      let byte = UInt8(
        truncatingIfNeeded: rawValue >> (8 * UInt32(index)) & (index == 3 ? 127 : 255))
      return (0x20..<0x7F).contains(byte) ? Character(Unicode.Scalar(byte)) : "?"
    }
    return String(characters) + (isBigEndian ? "-BE" : "")
  }
}
