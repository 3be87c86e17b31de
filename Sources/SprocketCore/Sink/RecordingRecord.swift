/// The number of a recording in its run, from 1.
public struct RecordingID: Sendable, Hashable, CustomStringConvertible {
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }

  public var description: String { "\(number)" }
}

/// Why a recording, or one of its files, ended.
public enum RecordingEnd: String, Sendable, CaseIterable {
  /// It was stopped, or has as many frames as were asked for.
  case asked
  /// The recording goes on in its next file.
  case split
  /// Its limit of time, or of size, was reached.
  case duration, size
  /// The disk has less free space than was to be kept.
  case disk
  /// The run ended.
  case end
  /// Pictures of another format followed.
  case discontinuity
  /// Its sink was detached from the run.
  case detached
  /// The source failed: a device was unplugged, for example.
  case device
  /// It could not be written.
  case error
  /// It did not begin: another recording of the same sink was under way at that frame.
  case refused

  /// The reason as a sentence about "it".
  public var sentence: String {
    switch self {
    case .asked: "it ended as asked"
    case .split: "it goes on in its next file"
    case .duration: "its limit of time was reached"
    case .size: "its limit of size was reached"
    case .disk: "the disk has less free space than was to be kept"
    case .end: "the run ended"
    case .discontinuity: "pictures of another format followed"
    case .detached: "its sink was detached from the run"
    case .device: "the source failed"
    case .error: "it could not be written"
    case .refused: "another recording of this sink was under way"
    }
  }
}

/// The account of one file of a recording.
public struct RecordingRecord: Sendable {
  public var id: RecordingID
  /// The sink's name.
  public var sink: String
  public var path: String
  /// The frame from which the recording was asked for; with a pre-roll `begin` lies before it. `nil` for
  /// further files of the recording.
  public var asked: UInt64?
  /// The file was asked for the frames from `begin` to before `end`; `nil` if it has not begun or ended
  /// yet.
  public var begin: UInt64?
  public var end: UInt64?
  /// First and last frame that were written; `nil` if there is none.
  public var firstFrame: FrameMark?
  public var lastFrame: FrameMark?
  /// Fates of the frames from `begin` to before `end`.
  public var counts = FateCounts()
  /// Bytes written, without the index that completing it adds.
  public var byteCount: UInt64 = 0
  /// Why it ended; `nil` while it is under way or being completed.
  public var reason: RecordingEnd?
  /// Whether the file can be used, wholly or up to its last durable frame.
  public var isUsable = false
  /// The error that ended it, as a sentence.
  public var error: String?
  /// Paths of older files that were deleted when this one was complete, to keep a total.
  public var deleted: [String] = []

  /// Whether it takes no frames for the time being (`Request.pause`).
  public var isPaused = false
  /// Nanoseconds of its pauses, which a movie does not have.
  public var pausedNanoseconds: Int64 = 0

  /// Of a file under way: nanoseconds from its first frame to its last.
  package var runningTime: Int64 = 0

  public init(id: RecordingID, sink: String, path: String) {
    self.id = id
    self.sink = sink
    self.path = path
  }

  /// Nanoseconds from the first frame's capture to the last's, without pauses; 0 if there are less than two
  /// frames.
  public var nanoseconds: Int64 {
    guard let firstFrame, let lastFrame else { return runningTime }
    let all = lastFrame.captured.nanoseconds(since: firstFrame.captured) ?? 0
    return all.clampedDifference(pausedNanoseconds)
  }
}

/// A frame's running number, and when it was captured.
public struct FrameMark: Sendable, Hashable {
  public var number: UInt64
  public var captured: Timestamp

  public init(_ record: FrameRecord) {
    number = record.number
    captured = record.captured
  }
}
