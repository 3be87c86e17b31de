import Glibc
import SprocketCore

/// An open file that bytes are appended to, through one buffer that is allocated once.
///
/// Appending allocates nothing. A write that is interrupted or taken in part goes on until all of
/// it is out. After a failure the buffer is empty, so that closing does not fail a second time.
///
/// A file that is neither written nor closed is as it was before: what is replaced is emptied by the
/// first write or by closing, and what was created is removed. So a start that fails does no harm.
@safe
struct FileWriter: ~Copyable {
  /// As messages have it: a path, or `standard output`.
  private let name: String
  private let descriptor: Int32
  private var isOwned: Bool
  /// What the file was when it was opened, until it is written or closed.
  private var untouched: Origin?
  let buffer: UnsafeMutableRawPointer
  private(set) var used = 0
  /// Where frames end in the buffer, as `endFrame` was told.
  private var frameEnds: [Int] = []
  /// Frames that the kernel has taken to their ends.
  private(set) var durableFrames: UInt64 = 0

  private enum Origin {
    case created, replaced
  }

  /// 64 KiB, what a pipe holds by default; a text that is appended in one piece fits in.
  static let capacity = 65536

  /// Creates the file at `path`. Unless `overwrite` is set, an existing one is refused; a device
  /// or named pipe is opened as it is. `purpose` says in messages what was to be written.
  /// The corresponding C function is `open`.
  init(path: String, purpose: String, overwrite: Bool) throws(SinkError) {
    var origin = Origin.created
    var descriptor = Self.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC)
    if descriptor < 0, errno == EEXIST, overwrite || !Self.isRegularFile(path) {
      origin = .replaced
      // Where the name is a link to nothing, this creates what it stands for.
      descriptor = Self.open(path, O_WRONLY | (overwrite ? O_CREAT : 0) | O_CLOEXEC)
    }
    guard descriptor >= 0 else { throw .opening(path, purpose: purpose, errno) }
    self.init(descriptor: descriptor, name: path, isOwned: true)
    untouched = origin
  }

  /// Writes to a descriptor that somebody else opened and closes.
  init(borrowing descriptor: Int32, name: String) {
    self.init(descriptor: descriptor, name: name, isOwned: false)
  }

  private init(descriptor: Int32, name: String, isOwned: Bool) {
    self.descriptor = descriptor
    self.name = name
    self.isOwned = isOwned
    untouched = nil
    unsafe buffer = .allocate(byteCount: Self.capacity, alignment: 4096)
    // Lines have more than 32 bytes: a digest's digits, or the keys of a report.
    frameEnds.reserveCapacity(Self.capacity / 32)
  }

  deinit {
    if untouched == .created { _ = unsafe unlink(name) }
    if isOwned { _ = Glibc.close(descriptor) }
    unsafe buffer.deallocate()
  }

  /// Writes what is still in the buffer and closes. The corresponding C function is `close`.
  consuming func close() throws(SinkError) {
    try flush()
    try touch()
    guard isOwned else { return }
    isOwned = false
    // After EINTR Linux has closed the file all the same (close(2)).
    if Glibc.close(descriptor) < 0, errno != EINTR { throw .writing(name, errno) }
  }

  /// Hands what is in the buffer to the kernel.
  mutating func flush() throws(SinkError) {
    let count = used
    used = 0
    var done = 0
    defer {
      // By index: an array's iterator allocates in a debug build.
      for index in frameEnds.indices where frameEnds[index] <= done { durableFrames += 1 }
      frameEnds.removeAll(keepingCapacity: true)
    }
    try unsafe writeAll(UnsafeRawPointer(buffer), count, &done)
  }

  /// What was appended so far completes a frame: `durableFrames` counts it once it is out.
  mutating func endFrame() { frameEnds.append(used) }

  /// Appends `bytes`; what exceeds the buffer is written without being copied.
  mutating func append(_ bytes: Span<UInt8>) throws(SinkError) {
    if bytes.count > Self.capacity - used { try flush() }
    let failure = unsafe bytes.withUnsafeBufferPointer { source -> SinkError? in
      guard let start = source.baseAddress else { return nil }
      if source.count >= Self.capacity {
        var done = 0
        do throws(SinkError) {
          try unsafe writeAll(UnsafeRawPointer(start), source.count, &done)
        } catch {
          return error
        }
      } else {
        unsafe (buffer + used).copyMemory(from: start, byteCount: source.count)
        used += source.count
      }
      return nil
    }
    if let failure { throw failure }
  }

  /// Makes room for `count` bytes at `buffer + used`.
  mutating func reserve(_ count: Int) throws(SinkError) {
    precondition(count <= Self.capacity, "reserve at most FileWriter.capacity bytes")
    if Self.capacity - used < count { try flush() }
  }

  /// Counts bytes that were put behind `used` after `reserve`.
  mutating func advance(_ count: Int) {
    precondition(count >= 0 && count <= Self.capacity - used, "reserve before writing")
    used += count
  }

  /// Counts in `done` what was taken, also if it throws. The corresponding C function is `write`.
  private mutating func writeAll(
    _ start: UnsafeRawPointer, _ count: Int, _ done: inout Int
  ) throws(SinkError) {
    if count > 0 { try touch() }
    while done < count {
      let result = unsafe Glibc.write(descriptor, start + done, count - done)
      if result >= 0 {
        done += result
      } else if errno == EAGAIN {
        // Whoever opened it made it non-blocking, as some shells do with standard output.
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&request, 1, -1)
      } else if errno != EINTR {
        throw .writing(name, errno)
      }
    }
  }

  /// From here on the file is this run's. The corresponding C function is `ftruncate`.
  private mutating func touch() throws(SinkError) {
    guard let origin = untouched else { return }
    untouched = nil
    // EINVAL is what devices and named pipes say, which have no length.
    if origin == .replaced, ftruncate(descriptor, 0) < 0, errno != EINVAL {
      throw .writing(name, errno)
    }
  }

  private static func open(_ path: String, _ flags: Int32) -> Int32 {
    while true {
      // Read and write for all, less the user's umask.
      let descriptor = unsafe Glibc.open(path, flags, 0o666)
      if descriptor >= 0 || errno != EINTR { return descriptor }
    }
  }

  /// True where nothing can be found out, so that the first error is the one that is told.
  private static func isRegularFile(_ path: String) -> Bool {
    var status = stat()
    let code = errno
    defer { errno = code }
    guard unsafe stat(path, &status) == 0 else { return true }
    // A directory too is left to `open`, which has a better word for it than `exists`.
    return status.st_mode & S_IFMT == S_IFREG
  }
}
