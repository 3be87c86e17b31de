internal import Glibc
package import SprocketCore

extension PartialFile {
  /// `movie.partial.mov` of `movie.mov`, and `sums.partial` of `sums`.
  package static func partialName(of path: String) -> String { name(path, with: ".partial") }

  /// Inserts `word` before the ending of a file's name.
  package static func name(_ path: String, with word: String) -> String {
    let name = path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...]
    // A point at the start hides a file and ends no name.
    guard let point = name.lastIndex(of: "."), point != name.startIndex else {
      return path + word
    }
    return path[..<point] + word + path[point...]
  }

  /// An unused name: `path` with `word`, and a number if that is taken. Neither the name nor its partial name
  /// exists.
  package static func freeName(_ path: String, with word: String) -> String {
    (1..<10_000).lazy.map { name(path, with: $0 == 1 ? word : "\(word)-\($0)") }
      .first { !isTaken($0) } ?? name(path, with: word)
  }

  /// Gives a partial file that an earlier run left another name, `movie.interrupted.mov`, and lets the
  /// descriptor stand for a new partial file, which is locked. An empty one stays. Returns 0 or an `errno`.
  /// The corresponding C functions are `renameat2`, `open`, `flock` and `dup2`.
  static func setAside(
    _ descriptor: Int32, _ partial: String, of path: String, _ keptPath: inout String?
  ) -> Int32 {
    guard size(descriptor) > 0 else { return 0 }
    let kept = freeName(path, with: ".interrupted")
    let code = unsafe FileCalls.rename(AT_FDCWD, partial, to: kept, replaces: false)
    guard code == 0 else { return code }
    keptPath = kept
    let new = unsafe FileCalls.open(
      AT_FDCWD, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: FileCalls.usualMode)
    guard new >= 0 else { return -new }
    defer { close(new) }
    _ = flock(new, LOCK_EX | LOCK_NB)
    guard dup2(new, descriptor) >= 0 else { return errno }
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0 ? errno : 0
  }

  /// What is to be said of `keptPath`.
  package static func note(kept path: String, _ owner: String) -> String {
    "\(owner): what an interrupted run left is kept as \(path)"
  }

  /// Opens a file and takes a shared lock, so that no run writes to it until the caller closes the returned
  /// descriptor. Throws if a run is writing to it. The result is negative if the file cannot be opened.
  /// The corresponding C functions are `open` and `flock`.
  package static func openUnwritten(_ path: String) throws(RunError) -> Int32 {
    let descriptor = unsafe FileCalls.open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { return descriptor }  // The caller's reader reports it.
    if flock(descriptor, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK {
      close(descriptor)
      throw RunError(.usage, "\(path) is still being written; wait for the end of that run")
    }
    return descriptor
  }

  /// Renames a complete file to `name`. An existing file of that name is an error unless `replaces` is set;
  /// then the new file gets its owner, group and mode. The corresponding C function is `renameat2`.
  package static func rename(
    _ path: String, to name: String, replaces: Bool
  ) throws(RunError) {
    let final = target(of: name)
    let descriptor = unsafe replaces ? FileCalls.open(AT_FDCWD, path, O_WRONLY) : -1
    if descriptor >= 0 {
      FileAccess(of: final)?.give(to: descriptor)
      close(descriptor)
    }
    var code = unsafe FileCalls.rename(AT_FDCWD, path, to: final, replaces: replaces)
    if code != 0 { throw .naming(name, partial: path, code) }
    code = unsafe FileCalls.sync(folder: RunError.parent(of: final))
    if code != 0 { throw .writing(name, code) }
  }

  enum Kind { case nothing, file, folder, device }

  /// Whether a folder, or a link to one, has that name.
  package static func isFolder(_ path: String) -> Bool { kind(of: path) == .folder }

  package static func isFile(_ path: String) -> Bool { kind(of: path) == .file }

  package static func isThere(_ path: String) -> Bool { kind(of: path) != .nothing }

  /// The corresponding C functions are `stat` and `lstat`.
  static func kind(of path: String, followsLink: Bool = true) -> Kind {
    var status = stat()
    let isFollowed = unsafe followsLink && stat(path, &status) == 0
    if !isFollowed, unsafe lstat(path, &status) < 0 { return .nothing }
    // A name such as /dev/stdout stands for what is open, also where that is a file.
    if path.hasPrefix("/dev/"), !path.hasPrefix("/dev/shm/"), status.st_mode & S_IFMT == S_IFREG {
      return .device
    }
    return switch status.st_mode & S_IFMT {
    // A link to nothing is a name that is taken.
    case S_IFREG, S_IFLNK: .file
    case S_IFDIR: .folder
    default: .device
    }
  }

  /// The canonical path of a file, with symbolic links followed; `path` itself if it does not exist.
  /// The corresponding C function is `realpath`.
  package static func target(of path: String) -> String {
    guard let text = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }

  /// What a symbolic link says; `nil` if the path is none. The corresponding C function is `readlink`.
  package static func link(at path: String) -> String? {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { text in
      guard let start = text.baseAddress else { return nil }
      let count = unsafe readlink(path, start, text.count)
      guard count >= 0 else { return nil }
      return unsafe String(
        decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }
  }

  static func size(_ descriptor: Int32) -> Int64 {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
  }
}

extension PartialFile {
  /// Attempts to open a named pipe that has no reader, and the microseconds between two: 3 s in all. Larger:
  /// slower readers are waited for, a missing one is reported later.
  private static let patience = 300
  private static let pause: UInt32 = 10_000

  /// Opens a device or pipe. Waits a bounded time for a reader of the pipe.
  /// The corresponding C functions are `open` and `fcntl`.
  static func open(device path: String, _ purpose: String) throws(RunError) -> Int32 {
    // Behind what is there: standard output may be a file that others write to.
    let flags = O_WRONLY | O_APPEND | O_NONBLOCK
    var descriptor = unsafe FileCalls.open(AT_FDCWD, path, flags)
    var tries = 0
    while descriptor == -ENXIO, isPipe(path) {
      guard tries < patience else { throw .noReader(path, purpose: purpose) }
      tries += 1
      usleep(pause)
      descriptor = unsafe FileCalls.open(AT_FDCWD, path, flags)
    }
    guard descriptor >= 0 else { throw .opening(path, purpose: purpose, -descriptor) }
    // Writing waits for the reader.
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
    return descriptor
  }

  /// Whether `path` is the name of what is open as `descriptor`, and not of something else by now, or of
  /// a link to it.
  static func isNamed(_ path: String, _ descriptor: Int32) -> Bool {
    var (named, opened) = (stat(), stat())
    return unsafe lstat(path, &named) == 0 && fstat(descriptor, &opened) == 0
      && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino
  }

  /// Why the file that has the partial name must not be overwritten; `nil` if an earlier run left it there.
  /// `owner` owns the file that is replaced. The corresponding C function is `fstat`.
  static func obstacle(_ descriptor: Int32, owner: uid_t?) -> StaticString? {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return "not to be looked at" }
    if status.st_mode & S_IFMT != S_IFREG { return "a device or pipe" }
    if status.st_nlink > 1 { return "a hard link to another file" }
    return status.st_uid == geteuid() || status.st_uid == owner ? nil : "another user's file"
  }

  private static func isPipe(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }
}
