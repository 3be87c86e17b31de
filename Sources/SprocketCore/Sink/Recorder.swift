/// A sink that writes recordings: movies, or photographs.
///
/// On demand it gets frames only while a recording is under way. Before and between recordings nothing is
/// decoded or packed for it, and its thread sleeps. Calls on the sink's thread: `configure`, then for each
/// recording `begin · write* · end`, one recording at a time; `configure` comes again at each epoch. An
/// error of `write` ends the recording, and the sink may be asked for the next one.
public protocol Recorder: Sink {
  /// Whether the sink gets only the frames that are asked for (`Engine.ask`). Fixed before the run. If it is
  /// false, the sink gets all frames, and no function of this protocol is called.
  var isOnDemand: Bool { get }
  /// When a recording ends, or goes on in its next file.
  var limits: RecordingLimits { get }
  /// Makes what a recording is written into, such as an empty file. Throws if the name cannot be used, so
  /// that the caller of `Engine.ask` gets the error. May be called from any thread after the first
  /// `configure`.
  func prepare(_ order: RecordingOrder) throws(RunError) -> any RecordingFile
  /// Frames that follow belong to `file`, which `prepare` made.
  func begin(_ file: any RecordingFile) throws(RunError)
  /// The file has all its frames. The engine then calls `finish` of the file on another thread.
  func end()
  /// Whether frames of the epoch that was configured last fit into the file that was begun.
  var fitsFile: Bool { get }
  /// How long before the frame that was asked for a recording begins; `nil`, the default, for not at all.
  /// With a pre-roll the sink never sleeps: every frame is packed, and its bytes are kept for a while.
  var preRoll: PreRoll? { get }
  /// Gives `body` the bytes of a frame that `write(held:_:)` needs. For a sink with a pre-roll.
  func withHeldBytes(of frame: borrowing PackedFrame, _ body: (Span<UInt8>) -> Void)
  /// The same as `write`, of a frame whose bytes were kept.
  func write(held: Span<UInt8>, _ record: FrameRecord) throws(RunError)
}

extension Recorder {
  public var limits: RecordingLimits { RecordingLimits() }
  public var preRoll: PreRoll? { nil }
  public func withHeldBytes(of frame: borrowing PackedFrame, _ body: (Span<UInt8>) -> Void) {}
  public func write(held: Span<UInt8>, _ record: FrameRecord) throws(RunError) {}
}

/// How long before the frame that was asked for a recording begins.
public struct PreRoll: Sendable, Hashable {
  public var duration: Duration
  /// How much later than its frame a request may come: frames are kept for so much longer. A program that
  /// asks because of a frame's reports has seen the frame when the source is some frames ahead.
  public var slack: Duration
  /// Most memory for the packed bytes of that time. If they need more, the pre-roll is shorter.
  public var bytes: Int

  /// Memory if a user names none: 5 s of 1080p Motion-JPEG are some 45 MB. Larger: longer pre-rolls of larger
  /// frames; the memory is used only as far as it is needed.
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
  /// As asked; `nil` for the sink's own name.
  public var path: String?
  /// Counts files from 1: those of the recording if it has a path of its own, else those of the sink.
  public var index: Int
  /// The name is derived and not given by the user. If it is taken, the sink tries the next number.
  public var isMadeUp: Bool

  public init(path: String? = nil, index: Int, isMadeUp: Bool = false) {
    self.path = path
    self.index = index
    self.isMadeUp = isMadeUp
  }
}

/// What the frames of a recording are written into: one file, or some photographs. Used by one thread at a
/// time.
public protocol RecordingFile: AnyObject {
  /// Its name when it is complete.
  var path: String { get }
  /// Bytes written so far.
  var byteCount: UInt64 { get }
  /// How many of its frames cannot be lost any more, counted from the first. Also correct after an error.
  var durableCount: UInt64 { get }
  /// Bytes that are free on its file system; `nil` if that is not known.
  var freeByteCount: UInt64? { get }
  /// Completes it: writes the index, syncs, gives it its name. May take long.
  func finish() throws(RunError)
  /// Removes it. Called instead of `finish` if no frame was written into it.
  func abandon()
}

/// When a recording ends, or goes on in its next file. `nil`: no such limit.
public struct RecordingLimits: Sendable, Hashable {
  /// Time from a recording's first frame. The first frame at or after it is not recorded.
  public var duration: Duration?
  /// Bytes of a recording, over all its files. It may be longer by one frame and its indexes.
  public var bytes: UInt64?
  /// Bytes that are kept free on the file system; checked once per second of recorded time.
  public var freeBytes: UInt64?
  /// Time, or bytes, after which a recording goes on in its next file. A file may be longer by one frame and
  /// its index.
  public var fileDuration: Duration?
  public var fileBytes: UInt64?

  public init() {}
}
