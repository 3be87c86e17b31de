internal import CSprocketLibAV
internal import Glibc

/// An open file, as bytes.
@safe
struct FileInput: ~Copyable {
  private let bridge: InputBridge
  let handle: UnsafeMutablePointer<AVIOContext>
  let path: String

  /// The path that means standard input, which may be a pipe.
  static let standardInput = "-"
  static let standardInputText = "standard input"

  /// Opens a file and checks that it is one, and has contents. Reading ends early when
  /// `isInterrupted`, which is asked on the reader's thread, says so.
  ///
  /// The corresponding C function is `avio_alloc_context`.
  init(_ path: String, isInterrupted: @escaping @Sendable () -> Bool) throws(MediaError) {
    let bridge = try InputBridge(path, isInterrupted: isInterrupted)
    if let missing = LibAV.missing {
      throw MediaError(
        code: .library(missing), operation: "dlopen", status: 0, path: bridge.path)
    }
    guard let handle = unsafe bridge.makeContext() else {
      throw MediaError(code: .outOfMemory, operation: "avio_alloc_context", status: 0, path: path)
    }
    self.bridge = bridge
    unsafe self.handle = unsafe handle
    self.path = bridge.path
  }

  /// It is a pipe, which is read once, from its start to its end.
  var isStream: Bool { bridge.isStream }

  deinit {
    var handle: UnsafeMutablePointer<AVIOContext>? = unsafe handle
    // The library may have put another buffer in place of the first.
    unsafe libav.av_freep(&self.handle.pointee.buffer)
    unsafe libav.avio_context_free(&handle)
  }

  /// Bytes of the file, when it was opened; of a pipe, those that came.
  var byteCount: Int64 { bridge.byteCount }

  /// Reads 16 bytes at `offset`. Bytes beyond the end of the file are zero; `nil` if fewer than 8 exist.
  func bytes(at offset: Int64) -> [UInt8]? { bridge.bytes(at: offset) }

  func checkInterruption() throws(MediaError) {
    guard bridge.isInterrupted() else { return }
    throw MediaError(code: .interrupted, operation: "read", status: 0, path: path)
  }

  /// Whether the file begins like a QuickTime or MP4 movie: with an atom of one of the known kinds.
  mutating func looksLikeMovie() -> Bool {
    _ = unsafe libav.avio_skip(handle, 4)
    let kind = unsafe libav.avio_rl32(handle)
    _ = unsafe libav.avio_seek(handle, 0, SEEK_SET)
    return ["ftyp", "mdat", "wide", "free", "skip", "pnot"].contains { name in
      name.utf8.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) } == kind
    }
  }

  /// A context that reads this file and opens no other; `nil` for want of memory. It lives no longer
  /// than this value.
  ///
  /// The corresponding C function is `avformat_alloc_context`.
  func makeContext() -> UnsafeMutablePointer<AVFormatContext>? {
    guard let context = unsafe libav.avformat_alloc_context() else { return nil }
    unsafe context.pointee.pb = unsafe handle
    unsafe context.pointee.interrupt_callback.callback = { opaque in
      guard let opaque = unsafe opaque else { return 0 }
      let bridge = unsafe Unmanaged<InputBridge>.fromOpaque(opaque).takeUnretainedValue()
      return bridge.isInterrupted() ? 1 : 0
    }
    unsafe context.pointee.interrupt_callback.opaque = unsafe bridge.opaque
    // For files that name others: external tracks, playlists within.
    unsafe context.pointee.io_open = { _, _, _, _, _ in -EACCES }
    // And for what would pass by `io_open`: there is no protocol of that name.
    unsafe context.pointee.protocol_whitelist = unsafe libav.av_strdup("none")
    return unsafe context
  }
}

/// Reads a file for libavformat. Reading stops when `isInterrupted` returns true.
@safe
private final class InputBridge {
  let path: String
  let isStream: Bool
  private let descriptor: Int32
  private let size: Int64
  let isInterrupted: @Sendable () -> Bool
  private var position: Int64 = 0
  /// Bytes per read of the library. Larger: fewer reads, more unused data after a seek. The library's own
  /// file reader uses the same size.
  private static let bufferSize = 1 << 15

  /// The corresponding C functions are `open` and `fstat`.
  init(_ path: String, isInterrupted: @escaping @Sendable () -> Bool) throws(MediaError) {
    let isStandard = path == FileInput.standardInput
    let path = isStandard ? FileInput.standardInputText : path
    // Without waiting: a named pipe that nobody writes to would hold us here for ever.
    let opened =
      unsafe isStandard
      ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard opened >= 0 else {
      let code: MediaError.Code =
        switch errno {
        // ENXIO: a socket, or a device without a driver.
        case ENXIO: .notAFile
        case ENOENT, ENOTDIR: .notFound
        case EACCES, EPERM: .notPermitted
        case ENOMEM: .outOfMemory
        default: .readFailed
        }
      throw MediaError(code: code, operation: "open", status: -errno, path: path)
    }
    var status = stat()
    let kind = unsafe fstat(opened, &status) < 0 ? 0 : status.st_mode & S_IFMT
    isStream = isStandard && [S_IFIFO, S_IFSOCK].contains(kind)
    guard isStream || kind == S_IFREG && status.st_size > 0 else {
      close(opened)
      let code: MediaError.Code =
        switch kind {
        case S_IFREG: .emptyFile
        case S_IFDIR: .isDirectory
        default: .notAFile
        }
      throw MediaError(code: code, operation: "fstat", status: 0, path: path)
    }
    descriptor = opened
    self.path = path
    size = Int64(status.st_size)
    self.isInterrupted = isInterrupted
  }

  deinit { close(descriptor) }

  var byteCount: Int64 { isStream ? position : size }

  /// The library's name for this object, which it does not keep alive.
  var opaque: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  /// The corresponding C function is `pread`.
  private func read(_ data: UnsafeMutablePointer<UInt8>, _ count: Int32) -> Int32 {
    while true {
      if isInterrupted() { return SPROCKET_AVERROR_EXIT }
      let result =
        unsafe isStream
        ? readStream(data, Int(count)) : pread(descriptor, data, Int(count), Int(position))
      if result > 0 {
        position += Int64(result)
        return Int32(result)
      }
      if result == 0 { return SPROCKET_AVERROR_EOF }
      if errno != EINTR { return -errno }
    }
  }

  /// The corresponding C function is `pread`.
  func bytes(at offset: Int64) -> [UInt8]? {
    guard offset >= 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe pread(descriptor, $0.baseAddress, $0.count, Int(offset))
    }
    return count >= 8 ? bytes : nil
  }

  /// Waits for bytes of a pipe. For the first ones 60 s at most; later ones may take any time, which the
  /// engine tells of.
  ///
  /// The corresponding C functions are `poll` and `read`.
  private func readStream(_ data: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
    var waits = 0
    var asked = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while unsafe poll(&asked, 1, Self.pollMilliseconds) == 0 {
      waits += 1
      errno = isInterrupted() ? EINTR : ETIMEDOUT
      if isInterrupted() || position == 0 && waits >= Self.mostFirstWaits { return -1 }
    }
    return unsafe Glibc.read(descriptor, data, count)
  }

  /// Larger: an end takes longer.
  private static let pollMilliseconds: Int32 = 50
  /// Larger: a program that delivers nothing is noticed later.
  private static let mostFirstWaits = 1200

  /// As lseek(2), and the length where `whence` is `AVSEEK_SIZE`.
  private func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
    let base: Int64
    switch whence & ~AVSEEK_FORCE {
    case AVSEEK_SIZE: return Int64(lseek(descriptor, 0, SEEK_END))
    case SEEK_SET: base = 0
    case SEEK_CUR: base = position
    case SEEK_END: base = Int64(lseek(descriptor, 0, SEEK_END))
    default: return Int64(-EINVAL)
    }
    let (place, overflow) = base.addingReportingOverflow(offset)
    guard !overflow, place >= 0 else { return Int64(-EINVAL) }
    position = place
    return place
  }

  /// The corresponding C function is `avio_alloc_context`.
  func makeContext() -> UnsafeMutablePointer<AVIOContext>? {
    guard let buffer = unsafe libav.av_malloc(Self.bufferSize) else { return nil }
    let context = unsafe libav.avio_alloc_context(
      buffer.assumingMemoryBound(to: UInt8.self), Int32(Self.bufferSize), 0, opaque,
      { opaque, data, count in
        guard let opaque = unsafe opaque, let data = unsafe data else { return -EINVAL }
        let bridge = unsafe Unmanaged<InputBridge>.fromOpaque(opaque).takeUnretainedValue()
        return unsafe bridge.read(data, count)
      }, nil,
      isStream
        ? nil
        : { opaque, offset, whence in
          guard let opaque = unsafe opaque else { return Int64(-EINVAL) }
          let bridge = unsafe Unmanaged<InputBridge>.fromOpaque(opaque).takeUnretainedValue()
          return bridge.seek(offset, whence)
        })
    if unsafe context == nil { unsafe libav.av_free(buffer) }
    return unsafe context
  }
}
