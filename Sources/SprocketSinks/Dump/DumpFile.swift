internal import SprocketCore
internal import SprocketFiles
internal import SprocketMCAP
internal import SprocketRecords

/// One source's part of a dump, which two sinks write, each on its thread.
///
/// Frames' bytes and records of them lie in chunks of different kinds, so that a reader who wants to
/// know what happened need not decompress pictures. Both are written together, records first: a file
/// that is cut off may lack bytes of frames that it tells of, never the reverse.
///
/// Unchecked: `contents` is touched under the lock alone. (It cannot be the mutex's own value, since
/// what is put into it comes out of frames that belong to a thread.)
final class DumpFile: @unchecked Sendable {
  let part: DumpPart
  private let output: DumpOutput
  private let lock = Locked<Void>(())
  private var contents: DumpContents

  init(_ output: DumpOutput, _ part: DumpPart, sync: Duration?) {
    self.output = output
    self.part = part
    contents = DumpContents(output, part)
    if let sync { contents.sync(every: sync) }
  }

  var keptPath: String? { output.keptPath }

  /// Creates the file, once.
  func open() throws(RunError) { try output.open() }

  /// Sets the session and the image format of the frames to come.
  func begin(_ session: SessionRecord, _ image: DumpImage) {
    lock.withLock { _ in contents.begin(session, image) }
  }

  /// Sets what the records of the epoch to come need: the layouts of reports, and the texts of settings.
  func describe(_ setup: SinkSetup) {
    lock.withLock { _ in
      contents.reports = setup.reports
      contents.changedSettings = setup.changedSettings
    }
  }

  /// A frame whose bytes are stored as they are.
  func add(_ frame: borrowing FrameView, stored bytes: Span<UInt8>) throws(RunError) {
    try add { contents throws(RunError) in try contents.add(frame, stored: bytes) }
  }

  /// A frame that `DumpPacker` compressed.
  func add(_ frame: borrowing FrameView, packed bytes: Span<UInt8>) throws(RunError) {
    try add { contents throws(RunError) in try contents.add(frame, packed: bytes) }
  }

  /// A frame that the source produced and that is not in the file.
  func add(_ lost: LostFrame) throws(RunError) {
    try add { contents throws(RunError) in try contents.add(lost) }
  }

  /// What became of a frame at the chain's end.
  func add(
    _ fate: LostFrame, _ frame: borrowing FrameView, _ line: borrowing ReportLine
  ) throws(RunError) {
    try add { contents throws(RunError) in try contents.add(fate, frame, line) }
  }

  /// The same of a frame that did not get there.
  func add(_ fate: LostFrame, _ line: borrowing ReportLine) throws(RunError) {
    try add { contents throws(RunError) in try contents.add(fate, line) }
  }

  /// Sets what sound is to come; before the first block.
  func describe(sound: [AudioDescription]) {
    lock.withLock { _ in contents.sound = DumpedSound(sound) }
  }

  /// A block of sound.
  func add(_ block: BlockRecord, _ bytes: Span<UInt8>) throws(RunError) {
    try add { contents throws(RunError) in try contents.add(block, bytes) }
  }

  /// Samples of each microphone that have reached the kernel.
  func durableSamples(_ microphone: Int) -> UInt64 {
    lock.withLock { _ in contents.sound.durable(microphone) }
  }

  /// Hands everything to the kernel.
  func flush() throws(RunError) {
    try write { contents throws(RunError) in
      // The other sink may have ended the file.
      if !contents.isClosed { try contents.flush() }
    }
  }

  /// Writes and syncs the chunks that are to be on the disk by now, if no frame comes.
  func syncIfDue() throws(RunError) {
    try write { contents throws(RunError) in
      if !contents.isClosed { try contents.syncIfDue() }
    }
  }

  /// Ends the file and gives it its final name. Both sinks of the dump call this, in any order. The
  /// second call does nothing, or throws the error of the first.
  func complete(_ ledger: Ledger) throws(RunError) {
    try write { contents throws(RunError) in
      if !contents.isClosed { try contents.complete(ledger) }
    }
  }

  /// Frames, and fates of delivered frames, that have reached the kernel; 0 if another program
  /// removed the file, or if an fsync failed.
  var durable: (frames: UInt64, fates: UInt64) {
    output.isLost
      ? (0, 0) : lock.withLock { _ in (contents.durableFrames, contents.durableFates) }
  }

  /// Throws if the file is complete: a sink that is late can add nothing to it.
  private func add(
    _ body: (inout DumpContents) throws(RunError) -> Void
  ) throws(RunError) {
    try write { contents throws(RunError) in
      if !contents.isClosed { return try body(&contents) }
      throw RunError(.failed, "\(output.path) was closed before its last frames came; run again")
    }
  }

  /// Runs `body` under the lock. After a failure nothing is written any more: each call throws that
  /// error, so both sinks report the same text.
  private func write(
    _ body: (inout DumpContents) throws(RunError) -> Void
  ) throws(RunError) {
    try lock.withLock { _ throws(RunError) in
      if let failure = contents.failure { throw failure }
      do throws(RunError) {
        try body(&contents)
      } catch {
        throw contents.isClosed ? error : contents.fail(error)
      }
    }
  }
}
