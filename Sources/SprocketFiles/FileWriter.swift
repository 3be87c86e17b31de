internal import Glibc
package import SprocketCore

/// An output that bytes are appended to, through one buffer that is allocated once.
///
/// Appending allocates nothing. After a failure the buffer is empty, so that closing does not fail
/// a second time. `PartialFile` describes when the file gets its final name.
@safe
package struct FileWriter: ~Copyable {
  private var file: PartialFile
  package let buffer: UnsafeMutableRawPointer
  package private(set) var used = 0
  /// Positions in the buffer at which frames end; `endFrame` adds them.
  private var frameEnds: [Int] = []
  /// Number of frames that have been written to the kernel completely.
  private var takenFrames: UInt64 = 0

  /// 64 KiB, what a pipe holds by default; a text that is appended in one piece fits in.
  package static let capacity = 65536

  /// Longest time that written bytes stay off the disk, nanoseconds; `nil`: as long as the kernel likes.
  /// For `syncIfDue`.
  package var syncInterval: Int64?
  private var lastSync: Int64 = 0

  /// Creates the partial file of `path`, or opens a device or named pipe as it is; `-` is standard
  /// output, as the command line has it.
  package init(path: String, purpose: String, overwrite: Bool) throws(RunError) {
    if path == "-" {
      self.init(borrowing: STDOUT_FILENO, name: "standard output")
    } else {
      self.init(try PartialFile(path: path, purpose: purpose, overwrite: overwrite))
    }
  }

  /// Writes to a descriptor that somebody else opened and closes.
  package init(borrowing descriptor: Int32, name: String) {
    self.init(PartialFile(borrowing: descriptor, name: name))
  }

  private init(_ file: consuming PartialFile) {
    self.file = file
    unsafe buffer = .allocate(byteCount: Self.capacity, alignment: 4096)
    // A frame is a line of more than 32 bytes, since it has a digest or the keys of a report. So
    // this suffices for a full buffer.
    frameEnds.reserveCapacity(Self.capacity / 32)
  }

  /// Writes what is still in the buffer and completes the file; nothing can be written after that.
  package mutating func complete() throws(RunError) {
    try flush()
    try file.complete()
  }

  deinit { unsafe buffer.deallocate() }

  package var keptPath: String? { file.keptPath }

  /// Number of frames that have been written to the kernel completely; 0 if another program removed
  /// the file, or if an fsync failed.
  package var keptFrames: UInt64 { file.isGone || file.isLost ? 0 : takenFrames }

  /// Hands what is in the buffer to the kernel.
  package mutating func flush() throws(RunError) {
    let count = used
    used = 0
    var done = 0
    defer {
      // By index: an array's iterator allocates in a debug build.
      for index in frameEnds.indices where frameEnds[index] <= done { takenFrames += 1 }
      frameEnds.removeAll(keepingCapacity: true)
    }
    let start = unsafe UnsafePointer(buffer.assumingMemoryBound(to: UInt8.self))
    try unsafe file.write(Span(_unsafeStart: start, count: count), done: &done)
  }

  /// Marks the end of a frame. `keptFrames` counts the frame once its bytes have been written.
  package mutating func endFrame() { frameEnds.append(used) }

  /// Syncs what was written, if it is time.
  package mutating func syncIfDue() throws(RunError) {
    guard let syncInterval else { return }
    let now = monotonicNow()
    guard now - lastSync >= syncInterval / 2 else { return }
    lastSync = now
    try flush()
    try file.syncWithName()
  }

  /// Appends `bytes`; what exceeds the buffer is written without being copied.
  package mutating func append(_ bytes: Span<UInt8>) throws(RunError) {
    if bytes.count > Self.capacity - used { try flush() }
    if bytes.count >= Self.capacity { return try file.write(bytes) }
    unsafe bytes.withUnsafeBytes { source in
      guard let start = source.baseAddress else { return }
      unsafe (buffer + used).copyMemory(from: start, byteCount: source.count)
    }
    used += bytes.count
  }

  /// Makes room for `count` bytes at `buffer + used`.
  package mutating func reserve(_ count: Int) throws(RunError) {
    precondition(count <= Self.capacity, "reserve at most FileWriter.capacity bytes")
    if Self.capacity - used < count { try flush() }
  }

  /// Counts bytes that were put behind `used` after `reserve`.
  package mutating func advance(_ count: Int) {
    precondition(count >= 0 && count <= Self.capacity - used, "reserve before writing")
    used += count
  }
}

extension FileWriter? {
  /// Completes the file and closes it; `frames` becomes its `keptFrames`.
  package mutating func close(keeping frames: inout UInt64) throws(RunError) {
    // If this throws, the file stays open, because it still knows its frames.
    try self?.flush()
    defer {
      frames = self?.keptFrames ?? frames
      self = nil
    }
    try self?.complete()
  }
}
