package import CSprocketSystem
internal import Glibc
internal import SprocketCore

/// The system's calls that files are made with. What an interruption stops is done again; what takes
/// a part is called until all is done. Each returns 0, or the `errno` of what failed.
///
/// Names are looked up in `folder`, a descriptor or `AT_FDCWD`.
package enum FileCalls {
  /// Read and write for all, less the user's umask.
  package static let usualMode: mode_t = 0o666

  /// A descriptor, or `-errno`. The corresponding C function is `openat`.
  package static func open(
    _ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32, mode: mode_t = usualMode
  ) -> Int32 {
    while true {
      let descriptor = unsafe openat(folder, name, flags | O_CLOEXEC, mode)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { return -errno }
    }
  }

  /// Writes at `offset`, or where the descriptor stands. Counts in `done` what was taken, also if it
  /// fails. The corresponding C functions are `pwrite` and `write`.
  package static func write(
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

  /// Drops what lies behind `length` bytes. The corresponding C function is `ftruncate`.
  static func cut(_ descriptor: Int32, to length: Int64) -> Int32 {
    while ftruncate(descriptor, off_t(length)) < 0 {
      if errno != EINTR { return errno }
    }
    return 0
  }

  /// What closing would report, with the descriptor left open: a network file system may tell only then
  /// that it could not keep what it took. The corresponding C functions are `dup` and `close`.
  static func closingError(_ descriptor: Int32) -> Int32 {
    let copy = dup(descriptor)
    guard copy >= 0, close(copy) < 0, errno != EINTR else { return 0 }
    return errno
  }

  /// Lets the kernel begin to write out what it has of a file; waits for nothing. The corresponding C
  /// function is `sync_file_range`.
  package static func beginSync(_ descriptor: Int32) -> Int32 {
    loss(-sprocket_begin_sync(descriptor))
  }

  /// Waits until a part of a file is on the disk, if the disk tells; the file's size is left aside. The
  /// corresponding C function is `sync_file_range`.
  package static func waitForSync(_ descriptor: Int32, _ range: Range<Int64>) -> Int32 {
    loss(-sprocket_wait_sync(descriptor, range.lowerBound, Int64(range.count)))
  }

  /// 0 where an `errno` of `sync_file_range` only says that a file system has no such call.
  private static func loss(_ code: Int32) -> Int32 {
    switch code {
    case EINVAL, ENOSYS, ESPIPE, EINTR, EPERM: 0
    default: code
    }
  }

  /// The corresponding C function is `fsync`.
  package static func sync(_ descriptor: Int32) -> Int32 {
    while fsync(descriptor) < 0 {
      // EINVAL is what devices and some network file systems say, which cannot.
      if errno == EINVAL { return 0 }
      if errno != EINTR { return errno }
    }
    return 0
  }

  /// Gives a file another name; EEXIST where there is one of that name and `replaces` is not set.
  /// The corresponding C functions are `renameat` and `renameat2`.
  package static func rename(
    _ folder: Int32, _ from: UnsafePointer<CChar>, to name: UnsafePointer<CChar>, replaces: Bool
  ) -> Int32 {
    if replaces { return unsafe renameat(folder, from, folder, name) < 0 ? errno : 0 }
    let result = unsafe -sprocket_rename_new(folder, from, name)
    guard result == EINVAL || result == ENOSYS else { return result }
    // A file system without that call, such as NFS, has links, which replace nothing either.
    if unsafe linkat(folder, from, folder, name, 0) < 0 { return errno }
    return unsafe unlinkat(folder, from, 0) < 0 ? errno : 0
  }

  /// Makes names in a folder, looked up in `start`, durable. The corresponding C function is `fsync`.
  package static func sync(folder: UnsafePointer<CChar>, in start: Int32 = AT_FDCWD) -> Int32 {
    let descriptor = unsafe open(start, folder, O_RDONLY | O_DIRECTORY)
    // A folder without read permission cannot be opened, and so not synced.
    guard descriptor >= 0 else { return descriptor == -EACCES ? 0 : -descriptor }
    defer { close(descriptor) }
    return sync(descriptor)
  }

  /// Bytes that this user may still write to the file system of an open file or folder; `nil` if the file
  /// system does not tell. The corresponding C function is `fstatvfs`.
  package static func freeByteCount(_ descriptor: Int32) -> UInt64? {
    var status = statvfs()
    return unsafe fstatvfs(descriptor, &status) == 0
      ? freeByteCount(blocks: status.f_bavail, of: status.f_blocks, size: status.f_frsize) : nil
  }

  /// Bytes of a file; `nil` if there is none. The corresponding C function is `stat`.
  package static func byteCount(at path: String) -> Int64? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? Int64(status.st_size) : nil
  }

  /// Current time in nanoseconds, from the clock that the kernel uses for files. The corresponding C function
  /// is `clock_gettime`.
  package static func now() -> Int64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_REALTIME_COARSE, &time)
    return nanoseconds(time)
  }

  /// Whether a file was written or named at that time or later. False if there is none. The corresponding C
  /// function is `fstatat`.
  package static func hasChanged(
    _ folder: Int32, _ name: UnsafePointer<CChar>, since time: Int64
  ) -> Bool {
    var status = stat()
    return unsafe fstatat(folder, name, &status, 0) == 0 && nanoseconds(status.st_ctim) >= time
  }

  /// When an open file was written or named last; `nil` if that is unknown. The corresponding C function is
  /// `fstat`.
  package static func changeTime(_ descriptor: Int32) -> Int64? {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 ? nanoseconds(status.st_ctim) : nil
  }

  package static func hasChanged(_ path: String, since time: Int64) -> Bool {
    unsafe hasChanged(AT_FDCWD, path, since: time)
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    let (whole, overflows) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    return overflows ? .max : whole.clampedSum(Int64(time.tv_nsec))
  }

  /// Removes a file, or an empty folder, if it is there. The corresponding C function is `remove`.
  package static func remove(_ path: String) { _ = unsafe Glibc.remove(path) }

  /// Makes a temporary folder in `/tmp` that only this user can read; `nil` if that fails.
  /// The corresponding C function is `mkdtemp`.
  package static func makeTemporaryFolder() -> String? {
    var name = Array(("/tmp/sprocket-" + String(repeating: "X", count: 6)).utf8CString)
    return unsafe name.withUnsafeMutableBufferPointer { name in
      guard let start = name.baseAddress, let made = unsafe mkdtemp(start) else {
        return nil
      }
      return unsafe String(cString: made)
    }
  }

  /// The same for the file system of a path. The corresponding C function is `statvfs`.
  package static func freeByteCount(at path: String) -> UInt64? {
    var status = statvfs()
    return unsafe statvfs(path, &status) == 0
      ? freeByteCount(blocks: status.f_bavail, of: status.f_blocks, size: status.f_frsize) : nil
  }

  /// Number of free bytes. Returns `nil` if the number of free blocks is larger than that of all blocks: some
  /// file systems say so if they do not know it, or if a quota is exceeded.
  package static func freeByteCount(blocks: UInt, of all: UInt, size: UInt) -> UInt64? {
    let (bytes, overflows) = UInt64(blocks).multipliedReportingOverflow(by: UInt64(size))
    return overflows || blocks > all ? nil : bytes
  }
}
