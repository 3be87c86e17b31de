public import SprocketCore

/// A text file that is opened at once, so that a bad path is told before the work, and written at
/// the end. Without that, nothing is left of it, and what it was to replace is as it was. See
/// `PartialFile`.
public struct OutputFile: ~Copyable {
  private var file: FileWriter

  /// Creates the file at `path`; an existing one is refused unless `overwrite` is set. `purpose` says
  /// in messages what was to be written.
  public init(path: String, purpose: String, overwrite: Bool) throws(RunError) {
    file = try FileWriter(path: path, purpose: purpose, overwrite: overwrite)
  }

  /// Writes `text` and closes.
  public consuming func write(_ text: String) throws(RunError) {
    try append(text)
    try complete()
  }

  /// Writes part of the text.
  public mutating func append(_ text: String) throws(RunError) {
    try file.append(Array(text.utf8))
  }

  /// Writes the rest and closes the file.
  public consuming func complete() throws(RunError) { try file.complete() }

  /// Where the file that will be `path` lies until it is complete.
  public static func partialPath(of path: String) -> String { PartialFile.partialName(of: path) }
}
