internal import Glibc

/// A file cannot be read; the text says why, and where that helps what to do.
public struct MCAPError: Error, Sendable, CustomStringConvertible {
  public enum Code: Sendable {
    /// It cannot be opened or read.
    case file
    /// It is no MCAP file, or is of a kind that is not read here.
    case format
    /// It was an MCAP file, and is damaged.
    case damaged
    /// A stop was requested. The file is not at fault.
    case interrupted
  }
  public let code: Code
  public let description: String

  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }

  /// What the system said; `error` is an `errno`.
  static func system(_ path: String, _ error: Int32) -> MCAPError {
    switch error {
    case ENOENT: return MCAPError(.file, "\(path) does not exist")
    case EACCES, EPERM: return MCAPError(.file, "\(path) is not readable for you")
    case EISDIR: return MCAPError(.file, "\(path) is a directory; give the name of a file")
    default:
      let text = unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
      return MCAPError(.file, "\(path) cannot be read: \(text)")
    }
  }
}
