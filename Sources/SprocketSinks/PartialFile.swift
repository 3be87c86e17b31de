internal import CSprocketSystem
internal import Glibc
internal import SprocketCore

/// An output that has its final name only when it is complete and synced.
///
/// `movie.mov` is written as `movie.partial.mov` beside it: whatever ends the run, a name without
/// `partial` is a whole file, and programs open the other by its ending. Players and `tail -f` may
/// follow it while it grows. What is to be replaced stays until the new file is complete.
///
/// An existing file is refused unless `overwrite` is set, and so is a partial one that an earlier run
/// left; an empty one holds nothing and is taken over. What another run is writing is always refused.
///
/// A file that was neither written nor completed leaves everything as it was, so a start that fails
/// does no harm. One that failed, or that nobody completes, keeps its partial name.
///
/// Devices and named pipes, such as `/dev/stdout`, are written as they are.
@safe
struct PartialFile: ~Copyable {
  /// As messages have it: what the user gave, or `standard output`.
  let name: String
  /// Where the file lies until it is complete; `nil` for a device or pipe.
  let partialPath: String?
  /// Where it will lie: what the user gave, symbolic links followed.
  private let finalPath: String
  private let replaces: Bool
  private let descriptor: Int32
  private let isOwned: Bool
  private var state: State
  /// The disk did not take what the kernel had taken.
  private(set) var isLost = false

  private enum State {
    /// Made by this run and empty; found and not yet emptied.
    case created, found
    case written
    /// A write was refused, or the name given: it is not complete and will not be.
    case failed
    case completed
  }

  /// Creates the partial file of `path`. `purpose` says in messages what was to be written; unless it
  /// `canBeDevice`, a device or pipe is refused, where nothing can be gone back to.
  /// The corresponding C functions are `open` and `flock`.
  init(
    path: String, purpose: String, overwrite: Bool, canBeDevice: Bool = true
  ) throws(SinkError) {
    let found = Self.kind(of: path)
    if found == .device, !canBeDevice { throw .device(path, purpose: purpose) }
    if path.isEmpty { throw .opening(path, purpose: purpose, ENOENT) }
    if found == .folder || path.hasSuffix("/") { throw .opening(path, purpose: purpose, EISDIR) }
    if found == .file, !overwrite { throw .opening(path, purpose: purpose, EEXIST) }
    let isDevice = found == .device
    let final = isDevice ? path : Self.target(of: path)
    let partial = isDevice ? nil : Self.partialName(of: final)
    let opened =
      if let partial {
        try Self.create(partial, of: path, purpose, overwrite: overwrite)
      } else {
        (try Self.open(device: path, purpose), State.written)
      }
    name = path
    finalPath = final
    partialPath = partial
    replaces = overwrite
    isOwned = true
    (descriptor, state) = opened
  }

  private static func create(
    _ partial: String, of path: String, _ purpose: String, overwrite: Bool
  ) throws(SinkError) -> (descriptor: Int32, state: State) {
    if kind(of: partial) == .device { throw .device(partial, purpose: purpose) }
    var state = State.created
    var descriptor = unsafe FileCalls.open(AT_FDCWD, partial, O_WRONLY | O_CREAT | O_EXCL)
    if descriptor == -EEXIST, kind(of: partial) == .file {
      state = .found
      descriptor = unsafe FileCalls.open(AT_FDCWD, partial, O_WRONLY | O_NONBLOCK)
    }
    guard descriptor >= 0 else {
      throw .opening(descriptor == -EEXIST ? partial : path, purpose: purpose, -descriptor)
    }
    let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    // Whoever wrote it until now may just have given it its final name.
    if !isLocked || !isNamed(partial, descriptor) {
      close(descriptor)
      throw .inUse(path, purpose: purpose)
    }
    if state == .found, !overwrite, size(descriptor) > 0 {
      close(descriptor)
      throw .leftOver(path, partial: partial, purpose: purpose)
    }
    return (descriptor, state)
  }

  /// Writes to a descriptor that somebody else opened and closes.
  init(borrowing descriptor: Int32, name: String) {
    self.name = name
    finalPath = name
    partialPath = nil
    replaces = false
    self.descriptor = descriptor
    isOwned = false
    state = .written
  }

  deinit {
    guard isOwned else { return }
    if state == .created, let partialPath { _ = unsafe unlink(partialPath) }
    close(descriptor)
  }

  /// Writes all of `bytes` at `offset` from the start, or behind what was written last.
  mutating func write(_ bytes: Span<UInt8>, at offset: Int64? = nil) throws(SinkError) {
    var done = 0
    try write(bytes, at: offset, done: &done)
  }

  /// The same; counts in `done` the bytes that the kernel took, also if it throws.
  mutating func write(
    _ bytes: Span<UInt8>, at offset: Int64? = nil, done: inout Int
  ) throws(SinkError) {
    if bytes.isEmpty { return }
    precondition(state != .completed, "a file that is complete takes no more")
    var code = prepare()
    if code == 0 {
      code = unsafe bytes.withUnsafeBytes {
        unsafe FileCalls.write(descriptor, $0, at: offset, done: &done)
      }
    }
    if code != 0 {
      state = .failed
      throw .writing(name, code)
    }
  }

  /// Whether somebody removed the file, or its folder with it: what is written now is lost.
  var isGone: Bool {
    var status = stat()
    return unsafe partialPath != nil && fstat(descriptor, &status) == 0 && status.st_nlink == 0
  }

  /// Drops what lies behind `length` bytes: the torn end of what failed. The corresponding C function is
  /// `ftruncate`.
  func cut(to length: Int64) {
    if partialPath != nil, state != .completed { _ = ftruncate(descriptor, off_t(length)) }
  }

  /// Lets the kernel begin to write out what it has; waits for nothing.
  func beginSync() {
    if partialPath != nil { sprocket_begin_sync(descriptor) }
  }

  /// Waits until the bytes of `range` are on the disk, if the disk tells. The corresponding C function is
  /// `sync_file_range`.
  mutating func waitForSync(_ range: Range<Int64>) throws(SinkError) {
    let code = -sprocket_wait_sync(descriptor, range.lowerBound, Int64(range.count))
    // All else is a file system that has no such call.
    if code == EIO || code == ENOSPC || code == EDQUOT {
      state = .failed
      throw .writing(name, code)
    }
  }

  /// Waits until what was written is durable. The corresponding C function is `fsync`.
  mutating func sync() throws(SinkError) {
    let code = FileCalls.sync(descriptor)
    if code != 0 {
      state = .failed
      isLost = true
      throw .writing(name, code)
    }
  }

  /// It will not become complete: it keeps its partial name, or is removed if nothing in it is of use.
  mutating func abandon(isOfUse: Bool) {
    guard let partialPath, state != .completed else { return }
    if !isOfUse, state != .found { _ = unsafe unlink(partialPath) }
    state = .failed
  }

  /// Whether a file of that name, or a partial one, is there.
  static func isTaken(_ path: String) -> Bool {
    kind(of: path) != .nothing || kind(of: partialName(of: path)) != .nothing
  }

  /// Syncs the file and gives it its final name, without replacing what has appeared there
  /// meanwhile, unless it may. Nothing can be written after that. Where a write failed before, it keeps
  /// its partial name, and nothing more is said.
  /// The corresponding C functions are `fsync` and `renameat2`.
  mutating func complete() throws(SinkError) {
    guard let partialPath, state != .failed, state != .completed else { return }
    var code = prepare()
    if code != 0 {
      state = .failed
      throw .writing(name, code)
    }
    try sync()
    keepPermissions()
    // What lies there by now may be another's.
    let isThere = Self.isNamed(partialPath, descriptor)
    code = ENOENT
    if isThere {
      code = unsafe FileCalls.rename(AT_FDCWD, partialPath, to: finalPath, replaces: replaces)
    }
    if code != 0 {
      state = .failed
      throw .naming(name, partial: partialPath, code, descriptor)
    }
    state = .completed
    code = unsafe FileCalls.sync(folder: SinkError.parent(of: finalPath))
    if code != 0 { throw .writing(name, code) }
  }

  /// From here on the file is this run's: what was found is emptied. Returns 0 or an `errno`.
  /// The corresponding C function is `ftruncate`.
  private mutating func prepare() -> Int32 {
    if state == .found, ftruncate(descriptor, 0) < 0 { return errno }
    if state == .found || state == .created { state = .written }
    return 0
  }

  /// A file that is replaced hands down who may read it.
  private func keepPermissions() {
    var status = stat()
    guard replaces, unsafe stat(finalPath, &status) == 0 else { return }
    _ = fchmod(descriptor, status.st_mode & 0o777)
  }
}
