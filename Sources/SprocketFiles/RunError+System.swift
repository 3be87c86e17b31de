internal import Glibc
package import SprocketCore

extension RunError {
  /// What to tell the user when a file cannot be opened for writing; `code` is an `errno`.
  package static func opening(_ path: String, purpose: String, _ code: Int32) -> RunError {
    let start = "cannot write \(purpose) to \(path.isEmpty ? "an empty path" : path): "
    switch code {
    case ENOENT where path.isEmpty: return RunError(.usage, start + "give the name of a file")
    case ENOENT where unsafe access(parent(of: path), F_OK) != 0:
      return RunError(.usage, start + "the directory \(parent(of: path)) does not exist; make it")
    case ENOTDIR:
      return RunError(.usage, start + "\(parent(of: path)) is not a directory; choose another")
    case EISDIR: return RunError(.usage, start + "it is a directory; give the name of a file")
    case EEXIST:
      return RunError(
        .usage, start + "it exists; choose another name, or let it be overwritten",
        change: .overwrite)
    case EACCES, EPERM:
      let isThere = unsafe access(path, F_OK) == 0
      let what = isThere ? "it" : "the folder \(parent(of: path))"
      return RunError(.usage, start + "\(what) is not writable for you; choose another place")
    case EROFS: return RunError(.usage, start + "the disk is read-only; choose another place")
    case ENOSPC, EDQUOT:
      return RunError(.failed, start + "the disk is full; free some space or choose another place")
    case EIO, ENODEV, ESTALE:
      return RunError(
        .failed, start + "its disk is gone or broken (\(text(code))); choose another place")
    case EMFILE, ENFILE:
      return RunError(.failed, start + "too many files are open; raise the limit with ulimit -n")
    default: return RunError(.usage, start + "\(text(code)); choose another place")
    }
  }

  /// What to tell the user when an open file takes no more; `code` is an `errno`.
  package static func writing(_ name: String, _ code: Int32) -> RunError {
    let start = "writing to \(name) failed: "
    switch code {
    case EPIPE: return RunError(.readerGone, "the reader of \(name) went away")
    case ENOSPC:
      return RunError(.failed, start + "the disk is full; free some space and run again")
    case EDQUOT:
      return RunError(.failed, start + "your quota is used up; free some space and run again")
    case EFBIG:
      return RunError(
        .failed,
        start + "the file is as large as its file system or ulimit -f allows; "
          + "choose another place")
    case EIO, ENODEV, ENXIO, ESTALE, EROFS, ENOTCONN:
      return RunError(
        .failed, start + "its disk is gone or broken (\(text(code))); check it and run again")
    case EBADF:
      return RunError(.usage, start + "it is not open for writing; redirect it to a file or pipe")
    default:
      return RunError(.failed, start + "\(text(code)); choose another place and run again")
    }
  }

  static func device(_ path: String, purpose: String) -> RunError {
    RunError(
      .usage,
      "cannot write \(purpose) to \(path): it is a device or pipe; give the name of a file")
  }

  package static func inUse(_ path: String, purpose: String) -> RunError {
    RunError(
      .usage,
      "cannot write \(purpose) to \(path): another run is writing it; choose another name, or wait")
  }

  /// Under the name that the file has until it is complete lies what is not written; `what` says why.
  static func occupied(
    _ path: String, partial: String, purpose: String, _ what: String
  ) -> RunError {
    RunError(
      .usage,
      "cannot write \(purpose) to \(path): \(partial), which it is called until it is complete, "
        + "\(what); move that away or choose another name")
  }

  /// The same; `code` is the `errno` of opening it.
  static func occupied(
    _ path: String, partial: String, purpose: String, _ code: Int32
  ) -> RunError {
    switch code {
    case ELOOP: .occupied(path, partial: partial, purpose: purpose, "is a symbolic link")
    case EISDIR: .occupied(path, partial: partial, purpose: purpose, "is a folder")
    case ENXIO: .occupied(path, partial: partial, purpose: purpose, "is a device or pipe")
    case EACCES, EPERM:
      .occupied(path, partial: partial, purpose: purpose, "is not writable for you")
    default: .opening(partial, purpose: purpose, code)
    }
  }

  /// What an earlier run left lies where this one would write.
  package static func leftOver(_ path: String, partial: String, purpose: String) -> RunError {
    let isMedia = [".mov", ".mp4", ".mkv", ".webm", ".wav", ".flac", ".mcap"].contains {
      partial.lowercased().hasSuffix($0)
    }
    return RunError(
      .usage,
      "cannot write \(purpose) to \(path): a run that did not end left \(partial); "
        + (isMedia ? "make a whole file of it (sprocket recover \(partial) NAME), " : "")
        + "move it away, or let \(path) be overwritten: then it is kept under another name",
      change: .overwrite)
  }

  /// Throws where bytes that are for a program would go to a terminal. `what` is the first half of the
  /// sentence. The corresponding C function is `isatty`.
  package static func refuseTerminal(_ descriptor: Int32, _ what: String) throws(RunError) {
    guard isatty(descriptor) != 0 else { return }
    throw RunError(
      .usage,
      "\(what) and standard output is a terminal; add a reader, for example | ffplay -")
  }

  static func noReader(_ path: String, purpose: String) -> RunError {
    RunError(
      .usage, "cannot write \(purpose) to \(path): nobody reads that pipe; start its reader first")
  }

  /// What to tell the user when a complete file, open as `descriptor`, cannot get its name; `code` is an
  /// `errno`.
  package static func naming(
    _ path: String, partial: String, _ code: Int32, _ descriptor: Int32
  ) -> RunError {
    if code == ENOENT, let moved = place(of: descriptor) {
      return RunError(
        .failed,
        "\(path) cannot be given its name: \(partial) was moved during the run; the file is \(moved), "
          + "rename it")
    }
    return naming(path, partial: partial, code)
  }

  package static func naming(_ path: String, partial: String, _ code: Int32) -> RunError {
    switch code {
    case EEXIST:
      RunError(
        .failed,
        "\(path) appeared during the run and is kept; the new file is \(partial), rename it")
    case ENOENT:
      RunError(
        .failed, "writing to \(path) failed: \(partial) was removed during the run; run again")
    default:
      RunError(
        .failed,
        "\(path) cannot be given its name: \(text(code)); the file is \(partial), rename it")
    }
  }

  /// What an open file is called now; `nil` where it was removed.
  private static func place(of descriptor: Int32) -> String? {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_nlink > 0 else { return nil }
    return PartialFile.link(at: "/proc/self/fd/\(descriptor)")
  }

  static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The system's words for an `errno`. The corresponding C function is `strerror`.
  package static func text(_ code: Int32) -> String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }
}
