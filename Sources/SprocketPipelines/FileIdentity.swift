internal import Glibc
public import Sprocket

/// Which file a path names, whatever way leads to it.
public enum FileIdentity {
  /// Device and inode of an existing regular file, else its canonical path. `nil` for devices, pipes and
  /// folders, which several parts of a run may name, and for a path that cannot be opened anyway.
  public static func of(_ path: String) -> String? { resolved(file: path).map(identity) }

  /// Whether two paths name one file. Devices, pipes and folders are none.
  public static func isSame(_ one: String, _ other: String) -> Bool {
    of(one).map { $0 == of(other) } ?? false
  }

  /// Whether `input` is an existing file with the partial name of `output`.
  public static func isPartial(_ input: String, of output: String) -> Bool {
    guard PartialFile.isThere(input), let read = of(input) else { return false }
    return of(OutputFile.partialPath(of: PartialFile.target(of: output))) == read
  }

  public static func isStandardOutput(_ path: String) -> Bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains(path)
  }

  /// Whether a path names an open descriptor of this or another process, directly or through links.
  public static func isDescriptor(_ path: String) -> Bool {
    var path = path
    // The kernel follows at most 40 links, too.
    for _ in 0..<40 {
      let slash = path.lastIndex(of: "/")
      let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
      let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
      let folder = PartialFile.target(of: parent)
      if folder == "/dev", ["fd", "stdin", "stdout", "stderr"].contains(name) { return true }
      if folder.hasPrefix("/proc/"), folder.split(separator: "/").contains("fd") { return true }
      guard let target = PartialFile.link(at: path) else { return false }
      path = target.hasPrefix("/") ? target : "\(folder)/\(target)"
    }
    return true
  }

  /// Throws where a client of a run names an open descriptor: it could write into a recording.
  public static func refuseDescriptor(_ path: String, _ what: String) throws(RunError) {
    guard isDescriptor(path) else { return }
    throw RunError(
      .usage, "\(what): \(path) is an open descriptor of a process; give the path of a file")
  }

  /// Refuses devices and pipes as a file that is read: opening a named pipe blocks until a writer opens it,
  /// and the readers of files need to seek.
  public static func refuseDevice(_ path: String) throws(RunError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return }
    if [S_IFIFO, S_IFCHR, S_IFSOCK].contains(status.st_mode & S_IFMT) {
      throw RunError(
        .usage, "\(path) is a device or pipe; save what comes from it and give that file",
        change: .source)
    }
  }

  /// Removes the empty partial file of a path, if this process has it open: a run ends while its files are
  /// being opened.
  public static func removeEmptyPartial(of path: String) {
    guard !isStandardOutput(path), let file = resolved(file: path) else { return }
    let partial = OutputFile.partialPath(of: file)
    var status = stat()
    guard unsafe stat(partial, &status) == 0, status.st_size == 0 else { return }
    // 1024 is the usual limit of open files (`ulimit -n`).
    let isOpenHere = (Int32(3)..<1024).contains { descriptor in
      var other = stat()
      return unsafe fstat(descriptor, &other) == 0 && other.st_dev == status.st_dev
        && other.st_ino == status.st_ino
    }
    if isOpenHere { _ = unsafe unlink(partial) }
  }

  /// The folder and the name within.
  static func parts(_ file: String) -> (folder: String, name: String) {
    guard let slash = file.lastIndex(of: "/") else { return (".", file) }
    let folder = slash == file.startIndex ? "/" : String(file[..<slash])
    return (folder, String(file[file.index(after: slash)...]))
  }

  /// Device and inode of an existing file, else its path.
  /// The corresponding C function is `stat`.
  static func identity(_ file: String) -> String {
    var status = stat()
    return unsafe stat(file, &status) == 0 ? "\(status.st_dev):\(status.st_ino)" : file
  }

  /// Device and inode of an existing folder, else its path.
  static func folderIdentity(_ folder: String) -> String {
    canonical(folder).map(identity) ?? resolved(file: folder) ?? folder
  }

  /// The canonical path of a regular file.
  static func resolved(file path: String) -> String? {
    var status = stat()
    if unsafe stat(path, &status) == 0 {
      return status.st_mode & S_IFMT == S_IFREG ? canonical(path) : nil
    }
    let slash = path.lastIndex(of: "/")
    let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
    let folder = slash.map { path[...$0] } ?? "."
    return name.isEmpty ? nil : canonical(String(folder)).map { "\($0)/\(name)" }
  }

  /// The corresponding C function is `realpath`.
  private static func canonical(_ path: String) -> String? {
    guard let text = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }
}
