internal import Glibc
internal import SprocketCodecs
internal import SprocketCore
internal import SprocketFiles
internal import SprocketLibAV

/// The file that a muxer writes: a movie, or sound.
final class MovieOutput: MuxerOutput {
  private var file: PartialFile
  let isStream: Bool
  /// Bytes that a stream has.
  private var streamed: Int64 = 0
  /// Why the muxer could not go on.
  private var failure: RunError?
  /// Where the latest fragments end, and up to where the disk has the file.
  private var ends = InlineArray<5, Int64>(repeating: 0)
  private var nextEnd = 0
  private var syncedEnd: Int64 = 0
  /// Whether each fragment is on the disk before the next is begun.
  let isSynced: Bool
  /// Seconds of a fragment.
  let fragment: Double

  /// `purpose` says in messages what was to be written. With `sync` nothing that was written is to be off the
  /// disk for longer: a fragment lasts half as long.
  init(
    path: String, purpose: String = "movie", overwrite: Bool, isMadeUp: Bool, sync: Duration? = nil
  ) throws(RunError) {
    isSynced = sync != nil
    fragment = min(1, sync.map { Double($0.nanosecondCount) / 2e9 } ?? 1)
    isStream = path == MovieSink.standardOutput
    guard !isStream else {
      try RunError.refuseTerminal(STDOUT_FILENO, "the \(purpose) is no text")
      file = PartialFile(borrowing: STDOUT_FILENO, name: "standard output")
      return
    }
    file = try PartialFile(
      path: path, purpose: purpose, overwrite: overwrite, canBeDevice: false, isMadeUp: isMadeUp)
  }

  var isGone: Bool { file.isGone }
  var partialPath: String? { file.partialPath }
  var keptPath: String? { file.keptPath }
  var freeByteCount: UInt64? { isStream ? nil : file.freeByteCount }
  /// The disk did not take what the kernel had taken.
  var isLost: Bool { file.isLost }

  /// A fragment ends at `end`. The disk may be as far behind as five of them, which the kernel keeps; who
  /// is further behind waits here, or a recording that is stopped would have too much left to sync.
  /// False where the disk lost something.
  func noteFragment(at end: Int64) -> Bool {
    if isStream { return true }
    if isSynced { return succeeds { file throws(RunError) in try file.syncWithName() } }
    let old = ends[nextEnd]
    ends[nextEnd] = end
    nextEnd = (nextEnd + 1) % ends.count
    let range = syncedEnd..<max(old, syncedEnd)
    syncedEnd = range.upperBound
    return succeeds { file throws(RunError) in
      try file.beginSync()
      if !range.isEmpty { try file.waitForSync(range) }
    }
  }

  func complete() throws(RunError) { try file.complete() }

  func write(_ bytes: Span<UInt8>, at offset: Int64) -> Bool {
    guard isStream else {
      return succeeds { file throws(RunError) in try file.write(bytes, at: offset) }
    }
    guard offset == streamed else {
      failure = RunError(
        .failed, "writing to \(file.name) failed: this movie goes back in its file; record a file")
      return false
    }
    streamed += Int64(bytes.count)
    return succeeds { file throws(RunError) in try file.write(bytes) }
  }

  func sync() -> Bool { isStream || succeeds { file throws(RunError) in try file.sync() } }

  /// False where `body` throws, which is kept for `fail`.
  private func succeeds(_ body: (inout PartialFile) throws(RunError) -> Void) -> Bool {
    do throws(RunError) {
      try body(&file)
      return true
    } catch {
      failure = error
      return false
    }
  }

  func fail(_ error: MuxerError, end: Int64, isOfUse: Bool) -> RunError {
    fail(reason(error), end: end, isOfUse: isOfUse)
  }

  /// Why the file cannot go on.
  func reason(_ error: MuxerError) -> RunError {
    switch error {
    case .output: failure ?? RunError(.failed, "writing to \(file.name) failed; run again")
    case .refused(let operation, let status):
      RunError(
        .failed,
        "writing to \(file.name) failed: \(operation) of libavformat says \(status); try "
          + "another kind of file")
    case .library(let missing): RunError(.failed, "\(file.name) cannot be written: \(missing)")
    case .unheld(let codec):
      RunError(
        .usage, "\(file.name) cannot hold \(codec); choose another ending, such as .mkv")
    case .untimed(let stream):
      RunError(
        .failed,
        "\(file.name) cannot be a copy: pictures of stream \(stream) have no times, and decoding alone tells "
          + "when they are shown; encode them instead")
    case .encoder(let error):
      RunError(.failed, "writing to \(file.name) failed: \(error); try the codec mjpeg")
    }
  }

  /// Ends the file after a failure. Keeps its whole fragments, up to `end`. Returns the error for the user.
  func fail(_ reason: RunError, end: Int64, isOfUse: Bool) -> RunError {
    // A reader that went away has an exit code of its own.
    if isStream { return reason }
    file.cut(to: end)
    file.abandon(isOfUse: isOfUse)
    guard isOfUse, let partial = file.partialPath, !isGone else {
      return RunError(.failed, reason.description)
    }
    return RunError(
      .failed,
      reason.description
        + (isLost
          ? "; \(partial) may lack what was recorded"
          : "; what was recorded before is in \(partial)"))
  }

  func abandonEmpty() { file.abandon(isOfUse: false) }

  func failGone() -> RunError {
    file.abandon(isOfUse: true)
    return .naming(file.name, partial: file.partialPath ?? file.name, ENOENT)
  }
}

extension RunError {
  /// Loads libavformat and the libraries beside it. Throws where one is missing: before anything is recorded.
  static func checkLibAV(for path: String) throws(RunError) {
    guard let missing = LibAV.missing else { return }
    throw RunError(.failed, "\(path) cannot be written: \(missing)")
  }
}

extension Timestamp {
  /// The tag that every movie of a run has.
  static let capturedTag = "captured_ns"

  /// When a movie's first frame was captured, as tags, behind those of its source. A clock that can be told
  /// knows the date better.
  func movieTags(_ source: [String: String] = [:]) -> [(name: String, value: String)] {
    var tags = source.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    tags += [
      (name: Self.capturedTag, value: "\(nanoseconds)"),
      (name: "captured_clock", value: "\(clock)"),
    ]
    if let time = WallClock.shared.time(of: self) {
      var text = ASCIIText(capacity: 32)
      text.appendISODate(CalendarTime(nanoseconds: time, inUTC: true))
      tags.append((name: "creation_time", value: String(decoding: text.bytes, as: UTF8.self)))
    }
    return tags
  }
}
