internal import Sprocket

/// `--script`: a file of requests, each with the frame or time from which it holds. One JSON object per line,
/// as on the control socket (docs/on-demand.md). Empty lines and lines that begin with `#` are ignored.
enum RequestScript {
  /// Makes all requests of a script. Throws if one cannot be read or is refused; the error names its line.
  static func ask(_ path: String, _ desk: RequestDesk) throws(RunError) {
    let answerer = RequestAnswerer(desk)
    guard let bytes = fileBytes(path, atMost: longest) else {
      let reason = PartialFile.isThere(path) ? "it cannot be read" : "it does not exist"
      throw RunError(
        .usage, "--script \(path): \(reason); give a file of requests, at most 1 MB")
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

  /// Most bytes of a script, 1 MB. Larger: longer scripts; but at most 256 requests may wait.
  private static let longest = 1 << 20
}
