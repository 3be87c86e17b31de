internal import Sprocket

/// `--script`: requests that are known before the run, each at its frame or time. One JSON object per line,
/// as on the control socket (docs/on-demand.md); empty lines and lines that begin with `#` are passed over.
enum RequestScript {
  /// Asks all of them. Throws if one cannot be read or is refused, with its line.
  static func ask(_ path: String, _ desk: RequestDesk) throws(RunError) {
    let answerer = RequestAnswerer(desk)
    guard let bytes = fileBytes(path, atMost: longest) else {
      throw RunError(
        .usage, "--script \(path): it cannot be read; give a file of requests, at most 1 MB")
    }
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      guard let first = line.first(where: { $0 != UInt8(ascii: " ") }), first != UInt8(ascii: "#")
      else { continue }
      do throws(RunError) {
        try answerer.askAhead(Array(line))
      } catch {
        throw RunError(
          .usage, "--script \(path), line \(index + 1): \(error.description)", error.remedies)
      }
    }
  }

  /// Longest script in bytes: thousands of requests, of which 256 may wait.
  private static let longest = 1 << 20
}
