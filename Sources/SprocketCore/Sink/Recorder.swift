/// A sink that writes recordings: movies, or photographs.
///
/// On demand it gets frames only while a recording is under way. Before and between recordings the engine
/// decodes and packs nothing for it, and its thread sleeps. Calls on the sink's thread: `configure`, then for
/// each recording `begin · write* · end`, one recording at a time; `configure` comes again at each epoch. An
/// error of `write` ends the recording, and the sink may be asked for the next one.
public protocol Recorder: Sink {
  /// Whether the sink gets only the frames that are asked for (`Engine.ask`). Fixed before the run. If it is
  /// false, the sink gets all frames, and no function of this protocol is called.
  var isOnDemand: Bool { get }
  /// Whether its recordings are files that a user asked for. If it is false, as of a sink that shows frames
  /// to who watches, the run keeps and tells no records of them, and its name is not among the sinks that can
  /// be asked. By default true.
  var makesFiles: Bool { get }
  /// When a recording ends, or goes on in its next file.
  var limits: RecordingLimits { get }
  /// Makes the file, or the folder, of a recording, still empty. Throws if the name cannot be used; the
  /// caller of `Engine.ask` gets that error. May be called from any thread after the first `configure`.
  func prepare(_ order: RecordingOrder) throws(RunError) -> any RecordingFile
  /// Begins a recording: frames that follow belong to `file`, which `prepare` made.
  func begin(_ file: any RecordingFile) throws(RunError)
  /// Ends the recording: its file has all frames. `next` is when the first frame was captured that is not its
  /// own; `nil` if that is not known. Then the engine calls `finish` of the file on another thread.
  func end(before next: Timestamp?)
  /// Takes no frames of the recording for the time being. `next` is as in `end(before:)`. Returns when the
  /// file's time stops, nanoseconds on the frames' clock; by default at `next`, and `nil` if it is not known.
  func pause(before next: Timestamp?) -> Int64?
  /// Whether the file that was begun can hold frames of the format that was configured last.
  var fitsFile: Bool { get }
  /// Frames that are kept for requests that come later than they; `nil`, the default, for none. With a
  /// pre-roll the sink never sleeps: every frame is packed, and its bytes are kept for that time. If it is
  /// for choices, a recording may be interrupted: `end`, then others, then `begin` with the same file again.
  var preRoll: PreRoll? { get }
  /// Passes to `body` the bytes of a frame that `write(held:_:)` will need. For a sink with a pre-roll.
  func withHeldBytes(of frame: borrowing PackedFrame, _ body: (Span<UInt8>) -> Void)
  /// Writes a frame from the bytes that were kept.
  func write(held: Span<UInt8>, _ record: FrameRecord) throws(RunError)
}

extension Recorder {
  public var makesFiles: Bool { true }
  public var limits: RecordingLimits { RecordingLimits() }
  public var preRoll: PreRoll? { nil }
  public func pause(before next: Timestamp?) -> Int64? { next?.nanoseconds }
  public func withHeldBytes(of frame: borrowing PackedFrame, _ body: (Span<UInt8>) -> Void) {}
  public func write(held: Span<UInt8>, _ record: FrameRecord) throws(RunError) {}
}

/// Frames that are kept for requests that come later than they.
public struct PreRoll: Sendable, Hashable {
  /// What kept frames are for.
  public enum Use: Sendable, Hashable {
    /// Recordings begin with them.
    case beginnings
    /// A request may choose one of them by its time; recordings begin at the frame that was asked for.
    case choices
  }

  /// What kept frames are for.
  public var use = Use.beginnings
  /// How long frames are kept.
  public var duration: Duration
  /// Time by which a request may come later than its frame: frames are kept for so much longer. A program
  /// that asks because of a frame's reports sees these when the source is some frames ahead.
  public var slack: Duration
  /// Most memory for the packed bytes of that time. If they need more, the pre-roll is shorter.
  public var bytes: Int

  /// Default of `bytes`, 256 MB: 5 s of 1080p Motion-JPEG are some 45 MB. Larger: longer pre-rolls of larger
  /// frames. Memory is used only as far as it is needed.
  public static let usualBytes = 256 << 20

  /// Traps if there is no time or no memory.
  public init(_ duration: Duration, slack: Duration = .zero, bytes: Int = usualBytes) {
    contract(slack >= .zero, "keeps frames for \(slack) longer; give 0 or more")
    contract(duration > .zero, "has a pre-roll of \(duration); give more than 0")
    contract(bytes > 0, "keeps \(bytes) bytes of pre-roll; give 1 or more")
    self.duration = duration
    self.slack = slack
    self.bytes = bytes
  }
}

/// The name of a file to be recorded.
public struct RecordingOrder: Sendable {
  /// The path that was asked for; `nil` for the sink's own.
  public var path: String?
  /// Number of the file, from 1: among the recording's files if `path` is given, else among the sink's.
  public var index: Int
  /// Whether the name is derived from the path and not given by the user. If a derived name is taken, the
  /// sink tries the next number.
  public var isMadeUp: Bool

  public init(path: String? = nil, index: Int, isMadeUp: Bool = false) {
    self.path = path
    self.index = index
    self.isMadeUp = isMadeUp
  }
}

/// The file, or the photographs, of a recording. Used by one thread at a time.
public protocol RecordingFile: AnyObject {
  /// Its name when it is complete.
  var path: String { get }
  /// Bytes written so far.
  var byteCount: UInt64 { get }
  /// Number of its frames, counted from the first, that cannot be lost any more. Also correct after an error.
  var durableCount: UInt64 { get }
  /// Bytes that the user may still write to its file system; `nil` if that is unknown.
  var freeByteCount: UInt64? { get }
  /// Limits of its own, counted from its first frame, in place of the recorder's; by default none.
  var ownLimits: RecordingLimits? { get }
  /// Paths of older files that were deleted when it was complete, to keep a total; by default none.
  var deletedFiles: [String] { get }
  /// Why such a file could not be deleted: an error of the run, which goes on; by default none.
  var deletionError: RunError? { get }
  /// Completes it: writes the index, syncs, gives it its name. May take long.
  func finish() throws(RunError)
  /// Removes it. Called instead of `finish` if no frame was written.
  func abandon()
}

extension RecordingFile {
  public var ownLimits: RecordingLimits? { nil }
  public var deletedFiles: [String] { [] }
  public var deletionError: RunError? { nil }
}

/// When a recording ends, or goes on in its next file. `nil`: no such limit.
public struct RecordingLimits: Sendable, Hashable {
  /// Time from a recording's first frame. The first frame at or after it is not recorded.
  public var duration: Duration?
  /// Bytes of a recording, over all its files. It may be longer by one frame and its indexes.
  public var bytes: UInt64?
  /// The recording ends when the file system has fewer free bytes. Checked once per second of recorded time.
  public var freeBytes: UInt64?
  /// Time, or bytes, after which a recording goes on in its next file. A file may be longer by one frame and
  /// its index.
  public var fileDuration: Duration?
  /// See `fileDuration`.
  public var fileBytes: UInt64?
  /// The recording ends where pictures follow that its file cannot hold. If false, the default, it goes on in
  /// its next file.
  public var endsAtDiscontinuity = false

  public init() {}
}
