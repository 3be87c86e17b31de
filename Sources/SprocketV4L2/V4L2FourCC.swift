/// V4L2's four-character code of a pixel format.
public struct V4L2FourCC: Hashable, Sendable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Shorter texts end in spaces.
  public init(_ text: String) {
    let bytes = Array(text.utf8.prefix(4)) + [UInt8](repeating: 0x20, count: 4)
    rawValue = bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Up to four characters, without spaces at their end; `?` for what nobody can print, and `-BE` behind
  /// them where bit 31 says that samples are big-endian.
  public var text: String {
    let isBigEndian = rawValue & 1 << 31 != 0
    let characters = (0..<4).map { index -> Character in
      let byte = UInt8(
        truncatingIfNeeded: rawValue >> (8 * UInt32(index)) & (index == 3 ? 127 : 255))
      return (0x20..<0x7F).contains(byte) ? Character(Unicode.Scalar(byte)) : "?"
    }
    let used = characters.lastIndex { $0 != " " }.map { characters[...$0] } ?? []
    return String(used) + (isBigEndian ? "-BE" : "")
  }
}
