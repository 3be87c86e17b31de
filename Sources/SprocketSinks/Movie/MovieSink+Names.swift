import SprocketCore
internal import SprocketFiles

// The names of a movie's files.
extension MovieSink {
  /// Takes the name of the file of that number. A file of this run is never replaced, and a path with `{n}`
  /// never replaces a file.
  func takeName(_ name: OutputName, _ number: Int) throws(RunError) -> MovieName {
    let hasPlace = name.hasNumber
    // Behind those of earlier runs, so that a lower number means an older file.
    let first = name == pattern ? keptTotal?.highestNumber ?? 0 : 0
    return try names.take(
      name, first + number, isMadeUp: number > 1 || hasPlace, replaces: overwrite && !hasPlace)
  }

  /// What replaces a movie may have fewer files than that had: the others do not belong to it.
  func noteLaterFiles() {
    guard overwrite, fileCount > 0, !isStream else { return }
    let others = (fileCount + 1...fileCount + 1000).lazy.map { [pattern] in
      MovieNames.path(pattern, $0)
    }
    .prefix { PartialFile.isTaken($0) }
    if others.isEmpty { return }
    note(
      "\(name): of an earlier run, and no part of \(path): \(Array(others).joined(separator: ", "))"
    )
  }

  /// Whether a movie at `path` may go on in a file called `name`, in its folder.
  public static func mayContinue(_ path: String, in name: String) -> Bool {
    let parts = [path, name].map { path in
      let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
      let end = path.lastIndex(of: ".") ?? path.endIndex
      return (stem: path[start..<max(start, end)], ending: path[end...])
    }
    guard parts[0].ending == parts[1].ending else { return false }
    let stem = parts[1].stem.hasSuffix(".partial") ? parts[1].stem.dropLast(8) : parts[1].stem
    guard stem.hasPrefix(parts[0].stem + "-") else { return false }
    return Int(stem.dropFirst(parts[0].stem.count + 1)).map { $0 > 1 } ?? false
  }
}
