internal import Glibc

// What the kernel tells in /proc.

/// The text of a small file; empty where it cannot be read.
///
/// The corresponding C functions are `open` and `read`.
func text(of path: String) -> String {
  let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { return "" }
  defer { close(file) }
  var bytes = [UInt8](repeating: 0, count: 8192)
  let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
  return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
}

/// The number behind `key` and a colon, at the beginning of a line. Pure.
func value(of key: String, in text: String) -> Int? {
  for line in text.split(separator: "\n") where line.hasPrefix(key) {
    let rest = trimmed(line.dropFirst(key.count))
    if rest.hasPrefix(":") { return Int(trimmed(rest.dropFirst())) }
  }
  return nil
}

/// Without white space before and behind.
func trimmed(_ text: Substring) -> String {
  let start = text.drop { $0.isWhitespace }
  guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
  return String(start[...end])
}
