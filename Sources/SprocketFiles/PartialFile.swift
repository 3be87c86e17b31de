internal import Glibc
package import SprocketCore
internal import Synchronization

/// An output that has its final name only when it is complete and synced.
///
/// `movie.mov` is written as `movie.partial.mov` beside it: whatever ends the run, a name without
/// `partial` is a whole file, and programs open the other by its ending. Players and `tail -f` may
/// follow it while it grows. What is to be replaced stays until the new file is complete.
///
/// An existing file is refused unless `overwrite` is set, and so is a partial one that an earlier run
/// left: with `overwrite` that is kept (`keptPath`). An empty one is taken over. What another run is writing
/// is always refused.
///
/// A symbolic link that the user names is followed: what it points to is written or replaced, and the
/// link stays. Names that the program makes up are not: under a partial name nothing is written into but
/// a file of one name that the user owns.
///
/// A new file has the owner, group and mode of what it replaces before it holds a byte.
///
/// A file that was neither written nor completed leaves everything as it was: a start that fails does no
/// harm. A file that failed, or that is never completed, keeps its partial name.
///
/// Devices and named pipes, such as `/dev/stdout`, are written as they are.
@safe
package struct PartialFile: ~Copyable {
  /// As messages have it: what the user gave, or `standard output`.
  package let name: String
  /// Where the file lies until it is complete; `nil` for a device or pipe.
  package let partialPath: String?
  /// Where it will lie: what the user gave, symbolic links followed.
  private let finalPath: String
  private let replaces: Bool
  private let descriptor: Int32
  private let isOwned: Bool
  private var state: State
  /// Where an earlier run's partial file lies now; `nil` if there was none.
  package private(set) var keptPath: String?
  /// A sync failed: bytes that the kernel has taken may not be on the disk.
  package private(set) var isLost = false
  /// The disk has the partial name.
  private var hasDurableName = false

  private enum State {
    /// Made by this run and empty; found and not yet set aside.
    case created, found
    case written
    /// A write was refused, or the name given: it is not complete and will not be.
    case failed
    case completed
  }

  private static let keepsOlder = Atomic(false)
  /// From here on this process replaces no file: what it writes in place of one keeps its partial name.
  package static func keepOlderFiles() { keepsOlder.store(true, ordering: .relaxed) }

  /// Creates the partial file of `path`. `purpose` says in messages what was to be written; unless it
  /// `canBeDevice`, a device or pipe is refused, where nothing can be gone back to. A `path` that
  /// `isMadeUp` is not the user's: a link of that name is replaced, not followed.
  /// The corresponding C functions are `open` and `flock`.
  package init(
    path: String, purpose: String, overwrite: Bool, canBeDevice: Bool = true,
    isMadeUp: Bool = false
  ) throws(RunError) {
    let found = Self.kind(of: path, followsLink: !isMadeUp)
    if found == .device, !canBeDevice { throw .device(path, purpose: purpose) }
    if path.isEmpty { throw .opening(path, purpose: purpose, ENOENT) }
    // The system's calls read a name up to its first zero byte.
    if path.utf8.contains(0) { throw .opening(path, purpose: purpose, EINVAL) }
    if found == .folder || path.hasSuffix("/") { throw .opening(path, purpose: purpose, EISDIR) }
    if found == .file, !overwrite { throw .opening(path, purpose: purpose, EEXIST) }
    let isDevice = found == .device
    if found == .file, !isMadeUp, unsafe Glibc.access(path, F_OK) != 0, errno == ENOENT {
      throw RunError(
        .usage,
        "cannot write \(purpose) to \(path): it is a link to nothing; remove it, or make its target"
      )
    }
    let final = isDevice || isMadeUp ? path : Self.target(of: path)
    let partial = isDevice ? nil : Self.partialName(of: final)
    let opened =
      if let partial {
        try Self.create(
          partial, of: path, purpose, replaces: overwrite,
          access: overwrite ? FileAccess(of: final) : nil)
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
    _ partial: String, of path: String, _ purpose: String, replaces: Bool, access: FileAccess?
  ) throws(RunError) -> (descriptor: Int32, state: State) {
    let flags = O_WRONLY | O_NOFOLLOW
    var state = State.created
    var descriptor = unsafe FileCalls.open(
      AT_FDCWD, partial, flags | O_CREAT | O_EXCL, mode: access?.firstMode ?? FileCalls.usualMode)
    if descriptor == -EEXIST {
      state = .found
      descriptor = unsafe FileCalls.open(AT_FDCWD, partial, flags | O_NONBLOCK | O_NOCTTY)
    }
    guard descriptor >= 0 else {
      throw state == .found
        ? .occupied(path, partial: partial, purpose: purpose, -descriptor)
        : .opening(path, purpose: purpose, -descriptor)
    }
    if state == .found {
      if let what = obstacle(descriptor, owner: access?.user) {
        close(descriptor)
        throw .occupied(path, partial: partial, purpose: purpose, "is \(what)")
      }
    } else {
      access?.give(to: descriptor)
    }
    let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    // Whoever wrote it until now may just have given it its final name.
    if !isLocked || !isNamed(partial, descriptor) {
      close(descriptor)
      throw .inUse(path, purpose: purpose)
    }
    if state == .found, !replaces, size(descriptor) > 0 {
      close(descriptor)
      throw .leftOver(path, partial: partial, purpose: purpose)
    }
    return (descriptor, state)
  }

  /// Writes to a descriptor that somebody else opened and closes.
  package init(borrowing descriptor: Int32, name: String) {
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
    if state == .created { removePartial() }
    close(descriptor)
  }

  /// Writes all of `bytes` at `offset` from the start, or behind what was written last.
  package mutating func write(_ bytes: Span<UInt8>, at offset: Int64? = nil) throws(RunError) {
    var done = 0
    try write(bytes, at: offset, done: &done)
  }

  /// The same; counts in `done` the bytes that the kernel took, also if it throws.
  package mutating func write(
    _ bytes: Span<UInt8>, at offset: Int64? = nil, done: inout Int
  ) throws(RunError) {
    if bytes.isEmpty { return }
    precondition(state != .completed, "a file that is complete takes no more")
    var code = prepare()
    if code == 0 {
      code = unsafe bytes.withUnsafeBytes {
        unsafe FileCalls.write(descriptor, $0, at: offset, done: &done)
      }
    }
    if code != 0 { throw fail(code) }
  }

  /// A call was refused. What the kernel took before counts only if the disk has taken it, too.
  private mutating func fail(_ code: Int32) -> RunError {
    if state != .failed, partialPath != nil, FileCalls.sync(descriptor) != 0 { isLost = true }
    state = .failed
    return .writing(name, code)
  }

  /// The disk did not take what the kernel had taken. That is told once: a later sync may succeed, and
  /// says nothing of what was lost.
  private mutating func lose(_ code: Int32) -> RunError {
    state = .failed
    isLost = true
    return .writing(name, code)
  }

  /// Whether somebody removed the file, or its folder with it: what is written now is lost.
  package var isGone: Bool {
    var status = stat()
    return unsafe partialPath != nil && fstat(descriptor, &status) == 0 && status.st_nlink == 0
  }

  /// Bytes that this user may still write to its file system; `nil` if that is unknown.
  package var freeByteCount: UInt64? { FileCalls.freeByteCount(descriptor) }

  /// Drops what lies behind `length` bytes: the torn end of what failed. Readers get along without.
  package func cut(to length: Int64) {
    if partialPath != nil, state != .completed { _ = FileCalls.cut(descriptor, to: length) }
  }

  /// Lets the kernel begin to write out what it has; waits for nothing. The corresponding C function is
  /// `sync_file_range`.
  package mutating func beginSync() throws(RunError) {
    guard partialPath != nil else { return }
    let code = FileCalls.beginSync(descriptor)
    if code != 0 { throw lose(code) }
  }

  /// Waits until the bytes of `range` are on the disk, if the disk tells. The corresponding C function is
  /// `sync_file_range`.
  package mutating func waitForSync(_ range: Range<Int64>) throws(RunError) {
    let code = FileCalls.waitForSync(descriptor, range)
    if code != 0 { throw lose(code) }
  }

  /// Waits until what was written is durable. The corresponding C function is `fsync`.
  package mutating func sync() throws(RunError) {
    let code = FileCalls.sync(descriptor)
    if code != 0 { throw lose(code) }
  }

  /// The same, and of the partial name, too.
  package mutating func syncWithName() throws(RunError) {
    try sync()
    guard let partialPath, !hasDurableName else { return }
    hasDurableName = true
    let code = unsafe FileCalls.sync(folder: RunError.parent(of: partialPath))
    if code != 0 { throw lose(code) }
  }

  /// It will not become complete: it keeps its partial name, or is removed if nothing in it is of use.
  package mutating func abandon(isOfUse: Bool) {
    guard partialPath != nil, state != .completed else { return }
    if !isOfUse, state != .found { removePartial() }
    state = .failed
  }

  /// The corresponding C function is `unlink`.
  private func removePartial() {
    guard let partialPath, Self.isNamed(partialPath, descriptor) else { return }
    _ = unsafe unlink(partialPath)
  }

  /// Whether a file of that name, or a partial one, is there.
  package static func isTaken(_ path: String) -> Bool {
    kind(of: path) != .nothing || kind(of: partialName(of: path)) != .nothing
  }

  /// Syncs the file and gives it its final name, without replacing what has appeared there
  /// meanwhile, unless it may. Nothing can be written after that. Where a write failed before, it keeps
  /// its partial name, and nothing more is said. Of a device or pipe it is asked whether it kept
  /// everything.
  /// The corresponding C functions are `fsync` and `renameat2`.
  package mutating func complete() throws(RunError) {
    guard state != .failed, state != .completed else { return }
    guard let partialPath else {
      let code = FileCalls.closingError(descriptor)
      if code != 0 { throw lose(code) }
      return
    }
    var code = prepare()
    if code != 0 { throw fail(code) }
    try sync()
    if replaces, Self.keepsOlder.load(ordering: .relaxed),
      Self.kind(of: finalPath, followsLink: false) == .file
    {
      state = .failed
      throw RunError(
        .failed, "stopped: \(name) is as it was; what was read until then is in \(partialPath)")
    }
    takeAccess()
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
    code = unsafe FileCalls.sync(folder: RunError.parent(of: finalPath))
    if code != 0 { throw lose(code) }
    state = .completed
  }

  /// From here on the file is this run's: what was found is set aside. Returns 0 or an `errno`.
  private mutating func prepare() -> Int32 {
    if state == .found, let partialPath {
      let code = Self.setAside(descriptor, partialPath, of: finalPath, &keptPath)
      if code != 0 { return code }
      takeAccess()
    }
    if state == .found || state == .created { state = .written }
    return 0
  }

  /// Gives the file owner and mode of the one that it replaces.
  private func takeAccess() { if replaces { FileAccess(of: finalPath)?.give(to: descriptor) } }
}
