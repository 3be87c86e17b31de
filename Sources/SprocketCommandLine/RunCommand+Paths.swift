internal import Glibc
internal import Sprocket

extension RunCommand {
  /// Throws where two options name one file, for one would destroy what the other writes or reads.
  func checkPaths() throws(RunError) {
    var options: [String: String] = [:]
    for (option, path) in paths {
      guard let file = Self.file(path) else { continue }
      if let other = options.updateValue(option, forKey: file) {
        throw RunError(
          .usage, "\(other) and \(option) name the same file, \(path); give each its own")
      }
    }
  }

  private var paths: [(option: String, path: String)] {
    let read = ["file:", "replay:"].compactMap { kind in
      source.flatMap { $0.hasPrefix(kind) ? String($0.dropFirst(kind.count)) : nil }
    }
    let truth = sourceSet.last { $0.hasPrefix("truth=") }.map { String($0.dropFirst(6)) }
    let named = [
      ("--source", read.first), ("--source-set truth", truth), ("--reports", reports),
      ("--checksums", checksums), ("--summary", summary),
    ]
    return (named + recording.paths).compactMap { option, path in path.map { (option, $0) } }
  }

  /// What `path` stands for, whichever way it is written; `nil` for a device or named pipe, which
  /// several may write to, and for a path that whoever opens it will refuse.
  private static func file(_ path: String) -> String? {
    var status = stat()
    if unsafe stat(path, &status) == 0 {
      return status.st_mode & S_IFMT == S_IFREG ? resolved(path) : nil
    }
    let slash = path.lastIndex(of: "/")
    let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
    let folder = slash.map { path[...$0] } ?? "."
    return name.isEmpty ? nil : resolved(String(folder)).map { "\($0)/\(name)" }
  }

  /// The corresponding C function is `realpath`.
  private static func resolved(_ path: String) -> String? {
    guard let text = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }
}
