internal import Glibc
internal import SprocketCodecs
internal import SprocketCore
internal import SprocketFiles

/// A folder that stills are written into, each with the life cycle of a `PartialFile`: it has its
/// name when it is complete and synced.
///
/// Syncing waits for the disk, and a disk takes about as long for many files as for one. So stills that
/// follow closely wait for each other under their partial names, a second or 16 of them, while the kernel
/// begins to write them out; then all are synced and named. Nothing is allocated per still but where it
/// replaces another.
@safe
final class StillFolder {
  private let path: String
  let naming: StillName
  let descriptor: Int32
  let overwrite: Bool
  /// Made by this run.
  private let isMade: Bool
  /// Made by this run, and so far empty.
  private var isNew: Bool
  /// Numbers of stills that an earlier run left.
  private var old: Set<StillNumber>
  private var waiting: [Waiting] = []
  private var text: ASCIIText
  let name: UnsafeMutablePointer<CChar>
  let partialName: UnsafeMutablePointer<CChar>
  private var namedStills: UInt64 = 0
  private(set) var removedStills = 0
  /// This run has no still, so the stills of an earlier run are kept.
  private(set) var keepsOld = false
  private var hasFailed = false
  /// The least time at which a still was made or named, by the clock of its file system; `nil` before. That
  /// clock may be set back.
  var began: Int64?
  /// A sync of the folder failed, so names may not be on the disk.
  private var isLost = false

  private struct Waiting {
    let mark: StillMark
    let descriptor: Int32
  }

  /// Most stills that wait to be synced and named together, and nanoseconds after which the first one does
  /// not wait. Larger: fewer syncs, and a crash loses more stills.
  private static let most = 16
  private static let longest: Int64 = 1_000_000_000

  /// Opens the folder, or makes it. The corresponding C functions are `mkdir`, `open` and `flock`.
  init(_ naming: StillName, overwrite: Bool) throws(RunError) {
    path = naming.folder
    self.naming = naming
    self.overwrite = overwrite
    text = ASCIIText(capacity: naming.mostBytes)
    _ = WallClock.shared
    if path.isEmpty {
      throw RunError(
        .usage, "cannot write stills to an empty path: give the name of a folder")
    }
    isMade = unsafe mkdir(path, 0o777) == 0
    isNew = isMade
    if !isMade, errno != EEXIST { throw .opening(path, purpose: "stills", errno) }
    let result = unsafe FileCalls.open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY)
    guard result >= 0 else {
      throw result == -ENOTDIR
        ? RunError(
          .usage,
          "cannot write stills to \(path): it is \(Self.kind(of: path)); "
            + "give the name of a folder")
        : .opening(path, purpose: "stills", -result)
    }
    descriptor = result
    unsafe name = .allocate(capacity: naming.mostBytes + 1)
    unsafe partialName = .allocate(capacity: naming.mostBytes + 1)
    waiting.reserveCapacity(Self.most)
    old = isMade || naming.isPattern ? [] : Self.numbers(in: descriptor)
    if flock(descriptor, LOCK_EX | LOCK_NB) < 0, errno == EWOULDBLOCK {
      throw .inUse(path, purpose: "stills")
    }
    if !overwrite, let first = old.min() {
      throw RunError(
        .usage,
        "cannot write stills to \(path): it has stills, \(first.text).jpg the first of "
          + "\(old.count); choose another folder, or let them be overwritten",
        change: .overwrite)
    }
    if unsafe faccessat(descriptor, ".", W_OK, 0) < 0 {
      throw .opening(path, purpose: "stills", errno)
    }
    if naming.isFixed {
      setNames(StillMark(FrameRecord()))
      if !overwrite, isThere { throw refusal(.usage) }
    }
  }

  deinit {
    for index in waiting.indices { close(waiting[index].descriptor) }
    close(descriptor)
    if isNew { _ = unsafe rmdir(path) }
    unsafe name.deallocate()
    unsafe partialName.deallocate()
  }

  /// Number of stills with their final names; 0 if another program removed the folder, or if its
  /// sync failed.
  var keptStills: UInt64 { isGone || isLost ? 0 : namedStills }

  /// Number of stills that got their names after the first `count`; 0 if the folder or its sync failed since.
  func durableStills(since count: UInt64) -> UInt64 { isGone || isLost ? 0 : namedStills - count }

  private var isGone: Bool {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && status.st_nlink == 0
  }

  /// Writes a still, in three pieces, under its partial name; names it and those before it when it is time.
  /// The corresponding C functions are `openat` and `write`.
  func write(
    _ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>, _ mark: inout StillMark
  ) throws(RunError) {
    let time = mark.captured
    if let first = waiting.first,
      waiting.count == Self.most || time &- first.mark.captured >= Self.longest
    {
      try nameAll()
    }
    setNames(mark)
    while naming.hasTime || mark.isChosen, isTaken {
      mark.copy += 1
      setNames(mark)
    }
    if naming.isPattern, isTaken { throw fail(refusal()) }
    let file = openPartial(StillNumber(mark))
    guard file >= 0 else {
      throw fail(
        isGone || file == -ENOENT
          ? .naming(path, partial: path, ENOENT) : .opening(current, purpose: "stills", -file))
    }
    isNew = false
    noteTime(of: file)
    var code = Self.write(first, to: file)
    if code == 0 { code = Self.write(second, to: file) }
    if code == 0 { code = Self.write(third, to: file) }
    if code == 0 { code = FileCalls.beginSync(file) }
    if code != 0 {
      close(file)
      _ = unsafe unlinkat(descriptor, partialName, 0)
      let failure = RunError.writing(current, code)
      // Those before it are whole.
      try? nameAll()
      throw fail(failure)
    }
    waiting.append(Waiting(mark: mark, descriptor: file))
    // A still by itself does not wait.
    if waiting.count == 1, isSparse(time) { try nameAll() }
    lastTime = time
  }

  private static func write(_ bytes: Span<UInt8>, to file: Int32) -> Int32 {
    var done = 0
    return unsafe bytes.withUnsafeBytes {
      unsafe FileCalls.write(file, $0, at: nil, done: &done)
    }
  }

  /// Makes the partial file of a still. A file of that name from an earlier run is removed, for it may be a
  /// link. The new file gets the permissions of the still that it replaces.
  /// The corresponding C functions are `unlinkat` and `openat`.
  private func openPartial(_ number: StillNumber) -> Int32 {
    var access: FileAccess?
    if overwrite {
      _ = unsafe unlinkat(descriptor, partialName, 0)
      let isOld = naming.isPattern ? isThere : !old.isEmpty && old.contains(number)
      if isOld { access = FileAccess(of: current) }
    }
    let file = unsafe FileCalls.open(
      descriptor, partialName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
      mode: access?.firstMode ?? FileCalls.usualMode)
    if file >= 0 { access?.give(to: file) }
    return file
  }

  private var lastTime: Int64?

  /// Whether stills come so seldom that none need wait for the next.
  private func isSparse(_ time: Int64) -> Bool {
    guard let lastTime else { return true }
    return time &- lastTime >= Self.longest / 4
  }

  /// Begins a recording of stills, and forgets earlier errors. Returns the number of stills that have their
  /// names.
  func beginBatch() -> UInt64 {
    (isLost, hasFailed) = (false, false)
    return namedStills
  }

  /// Names the stills that wait, and syncs the folder.
  func endBatch() throws(RunError) {
    try nameAll()
    let code = isGone ? ENOENT : syncNames()
    if code != 0 { throw fail(isGone ? .naming(path, partial: path, code) : .writing(path, code)) }
  }

  /// The path of a still.
  func path(of mark: StillMark) -> String {
    setNames(mark)
    return current
  }

  /// Bytes that this user may still write to its file system; `nil` if that is unknown.
  var freeByteCount: UInt64? { FileCalls.freeByteCount(descriptor) }

  /// Names the stills that wait and syncs the folder. If this run has a still, removes those of an
  /// earlier run that it did not replace.
  func finish() throws(RunError) {
    guard !hasFailed else { return }
    try nameAll()
    keepsOld = namedStills == 0 && !old.isEmpty
    for number in old where !keepsOld {
      setNames(number.mark)
      let isRemoved = unsafe unlinkat(descriptor, name, 0) == 0
      let isPartRemoved = unsafe unlinkat(descriptor, partialName, 0) == 0
      if isRemoved || isPartRemoved { removedStills += 1 }
    }
    if isGone, namedStills > 0 { throw fail(.naming(path, partial: path, ENOENT)) }
    let code = syncNames()
    if code != 0 { throw fail(.writing(path, code)) }
  }

  /// Makes the names durable, and that of the folder if it is new. Returns 0 or an `errno`; after a failure
  /// no still counts, were a later sync to succeed.
  private func syncNames() -> Int32 {
    var code = FileCalls.sync(descriptor)
    if code == 0, isMade { code = unsafe FileCalls.sync(folder: "..", in: descriptor) }
    if code != 0 { isLost = true }
    return code
  }

  /// Syncs and names all that wait, in order.
  private func nameAll() throws(RunError) {
    var failure: RunError?
    for index in waiting.indices {
      let still = waiting[index]
      if failure == nil { failure = complete(still) }
      close(still.descriptor)
    }
    waiting.removeAll(keepingCapacity: true)
    if let failure { throw fail(failure) }
  }

  private func complete(_ still: Waiting) -> RunError? {
    setNames(still.mark)
    var code = FileCalls.sync(still.descriptor)
    if code != 0 { return .writing(current, code) }
    code = unsafe FileCalls.rename(descriptor, partialName, to: name, replaces: overwrite)
    if code != 0 {
      let partial = unsafe "\(path)/\(String(cString: partialName))"
      return .naming(current, partial: partial, code, still.descriptor)
    }
    noteTime(of: still.descriptor)
    if !old.isEmpty { old.remove(StillNumber(still.mark)) }
    namedStills += 1
    return nil
  }

  private func fail(_ error: RunError) -> RunError {
    if !hasFailed, !isLost, !isGone, namedStills > 0 { _ = syncNames() }
    hasFailed = true
    return error
  }

  /// The still whose names are set, for messages.
  var current: String { unsafe "\(path)/\(String(cString: name))" }

  // MARK: Names

  private func setNames(_ still: StillMark) {
    naming.write(still, isPartial: false, into: &text)
    unsafe Self.copy(text.bytes, to: name)
    naming.write(still, isPartial: true, into: &text)
    unsafe Self.copy(text.bytes, to: partialName)
  }

  private static func copy(_ text: [UInt8], to name: UnsafeMutablePointer<CChar>) {
    for index in text.indices { unsafe name[index] = CChar(bitPattern: text[index]) }
    unsafe name[text.count] = 0
  }
}
