internal import Glibc

/// A file that is read at any place.
@safe
struct MCAPInput: ~Copyable {
  let path: String
  /// Bytes it had when it was opened.
  let size: UInt64
  private let descriptor: Int32
  private let isInterrupted: @Sendable () -> Bool

  /// Reading throws when `isInterrupted`, which is asked on the reader's thread, says so.
  ///
  /// The corresponding C functions are `open` and `flock`.
  init(
    path: String, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MCAPError) {
    // Without waiting: a named pipe that nobody writes to would hold us here for ever.
    let opened = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if opened < 0 { throw .system(path, errno) }
    var status = stat()
    let kind = unsafe fstat(opened, &status) < 0 ? 0 : status.st_mode & S_IFMT
    guard kind == S_IFREG else {
      close(opened)
      if kind == S_IFDIR { throw .system(path, EISDIR) }
      throw MCAPError(.file, "\(path) is no file that can be read at will; give the name of a file")
    }
    // Who would empty the file while it is read finds it taken. It is no matter if somebody still
    // writes it: what is whole by now is read.
    _ = flock(opened, LOCK_SH | LOCK_NB)
    self.path = path
    size = UInt64(max(status.st_size, 0))
    descriptor = opened
    self.isInterrupted = isInterrupted
  }

  deinit { close(descriptor) }

  var notMCAP: MCAPError {
    MCAPError(.format, "\(path) is no MCAP file; give a file that begins as MCAP files do")
  }

  /// Makes `bytes` so many bytes of the file. The corresponding C function is `pread`.
  func read(_ offset: UInt64, _ count: Int, into bytes: inout MCAPBytes) throws(MCAPError) {
    if isInterrupted() { throw MCAPError(.interrupted, "reading \(path) was ended") }
    bytes.removeAll()
    guard bytes.reserve(count) else { throw .system(path, ENOMEM) }
    var failure: Int32 = 0
    bytes.fill(count) { room in
      unsafe room.withUnsafeMutableBytes { target in
        var done = 0
        while done < count {
          let result = unsafe pread(
            descriptor, target.baseAddress.unsafelyUnwrapped + done, count - done,
            Int(offset) + done)
          if result > 0 {
            done += result
          } else if result == 0 || errno != EINTR {
            failure = result == 0 ? 0 : errno
            break
          }
        }
        return done
      }
    }
    if failure != 0 { throw .system(path, failure) }
    if bytes.count < count { throw MCAPError(.damaged, "\(path) became shorter while it was read") }
  }
}
