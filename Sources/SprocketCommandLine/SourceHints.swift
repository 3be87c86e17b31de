internal import Sprocket

/// What to write instead of a source that is none. Pure.
enum SourceHints {
  /// The sentence about `text`, which names none of `sources`.
  static func unknown(_ text: String, among sources: [SourceKind]) -> String {
    let name = String(text.prefix { $0 != ":" })
    let start = "there is no source `\(name)`; "
    if isCamera(text) { return start + "for a camera write camera:\(node(text))" }
    let known = name.prefix { $0 != "," }
    if known.endIndex < name.endIndex, sources.contains(where: { $0.name == known }) {
      let settings = text.dropFirst(known.count + 1).split(separator: ",")
      let options = settings.map { " --source-set \($0)" }.joined()
      return start + "settings are options of their own: --source \(known)\(options)"
    }
    let near = nearestName(to: name, among: sources.map(\.name))
    let looksLikeFile = name == text && text.contains(".") && !text.hasPrefix("/dev/")
    return start
      + (looksLikeFile ? "for a file write file:\(text), or replay:\(text) for a dump; " : "")
      + (near.map { "did you mean `\($0)`? " } ?? "")
      + "there are: \(sources.map(\.usage).joined(separator: ", "))"
  }

  /// The sentence about `file:` with a dump; `nil` for all other sources.
  static func otherKind(_ text: String) -> String? {
    guard text.hasPrefix("file:"), text.lowercased().hasSuffix(".mcap") else { return nil }
    let path = text.dropFirst("file:".count)
    return "\(path) is a dump, and file: is for movies and pictures; use replay:\(path)"
  }

  /// A node of a camera, or a part of its name: `/dev/video0`, `video0`, `0`.
  private static func isCamera(_ text: String) -> Bool {
    text.hasPrefix("/dev/video") || text.hasPrefix("/dev/v4l/")
      || text.wholeMatch(of: /(video)?[0-9]{1,3}/) != nil
  }

  private static func node(_ text: String) -> String {
    text.hasPrefix("/") ? text : text.hasPrefix("video") ? "/dev/\(text)" : "/dev/video\(text)"
  }
}
