internal import CSprocketSystem
internal import Glibc

/// The system's calls that files are made with. What an interruption stops is done again; what takes
/// a part is called until all is done. Each returns 0, or the `errno` of what failed.
///
/// Names are looked up in `folder`, a descriptor or `AT_FDCWD`.
enum FileCalls {
  /// A descriptor, or `-errno`. The corresponding C function is `openat`.
  static func open(_ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
    while true {
      // Read and write for all, less the user's umask.
      let descriptor = unsafe openat(folder, name, flags | O_CLOEXEC, 0o666)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { return -errno }
    }
  }

  /// Writes at `offset`, or where the descriptor stands. Counts in `done` what was taken, also if it
  /// fails. The corresponding C functions are `pwrite` and `write`.
  static func write(
    _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64?, done: inout Int
  ) -> Int32 {
    guard let start = bytes.baseAddress else { return 0 }
    while done < bytes.count {
      let rest = unsafe start + done
      let count = bytes.count - done
      let result =
        if let offset {
          unsafe pwrite(descriptor, rest, count, off_t(offset) + off_t(done))
        } else {
          unsafe Glibc.write(descriptor, rest, count)
        }
      if result >= 0 {
        done += result
      } else if errno == EAGAIN {
        // Whoever opened it made it non-blocking, as some shells do with standard output.
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&request, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return 0
  }

  /// The corresponding C function is `fsync`.
  static func sync(_ descriptor: Int32) -> Int32 {
    while fsync(descriptor) < 0 {
      // EINVAL is what devices and some network file systems say, which cannot.
      if errno == EINVAL { return 0 }
      if errno != EINTR { return errno }
    }
    return 0
  }

  /// Gives a file another name; EEXIST where there is one of that name and `replaces` is not set.
  /// The corresponding C functions are `renameat` and `renameat2`.
  static func rename(
    _ folder: Int32, _ from: UnsafePointer<CChar>, to name: UnsafePointer<CChar>, replaces: Bool
  ) -> Int32 {
    if replaces { return unsafe renameat(folder, from, folder, name) < 0 ? errno : 0 }
    let result = unsafe -sprocket_rename_new(folder, from, name)
    guard result == EINVAL || result == ENOSYS else { return result }
    // A file system without that call, such as NFS, has links, which replace nothing either.
    if unsafe linkat(folder, from, folder, name, 0) < 0 { return errno }
    return unsafe unlinkat(folder, from, 0) < 0 ? errno : 0
  }

  /// Makes names in a folder durable. The corresponding C function is `fsync`.
  static func sync(folder: UnsafePointer<CChar>) -> Int32 {
    let descriptor = unsafe open(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY)
    // Of a folder that one may write but not read the names cannot be synced by hand.
    guard descriptor >= 0 else { return descriptor == -EACCES ? 0 : -descriptor }
    defer { close(descriptor) }
    return sync(descriptor)
  }
}
