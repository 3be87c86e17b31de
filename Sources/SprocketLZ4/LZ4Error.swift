/// Bytes that are not what they should be.
public enum LZ4Error: Error, Sendable, CustomStringConvertible {
  /// They are no LZ4 frame, or a broken one.
  case damaged
  /// The frame goes on behind their end.
  case truncated
  /// The frame holds more than there is room for.
  case tooLarge

  public var description: String {
    switch self {
    case .damaged: "the LZ4 frame is damaged"
    case .truncated: "the LZ4 frame is cut off"
    case .tooLarge: "the LZ4 frame holds more than it should"
    }
  }
}
