internal import SprocketCore

/// A file and its record, on their way from the caller of `ask` to the sink's thread and to the finisher.
///
/// Unchecked: one thread uses it at a time.
final class RecordingJob: @unchecked Sendable {
  let file: any RecordingFile
  /// What was ordered: its place, and its recording.
  let order: RecordingBook.Order
  /// Whether its record is kept and told of.
  let isTold: Bool
  var record: RecordingRecord
  /// The recording ends after so many frames.
  let frames: UInt64?
  /// Number of frames in earlier files of the recording.
  var earlierFrames: UInt64 = 0
  /// The frame that was asked for, which may be a past one.
  var askedFrame: UInt64?
  /// The time of that frame, counted from the run's first.
  var askedTime: Duration?
  /// Which frame is meant, for a recording of one frame that is chosen by its time.
  var choice: FrameChoice?
  /// The time that `choice` is about; `nil` if it is counted back from a frame.
  var chosenTime: Timestamp?
  /// Whether the sink's account counts its frame by this recording. A frame that several recordings have
  /// chosen counts once.
  var countsFrames = true
  /// Frame at which the recording was to begin, by its stamp; `nil` for further files.
  var stampedFrame: UInt64?
  var written: UInt64 = 0
  /// Whether it takes no frames for the time being.
  var isPaused = false
  /// `durableCount` of the file when the finisher received it.
  var durable: UInt64 = 0
  /// A write failed, so the file is not finished.
  var hasFailed = false
  /// Whether its record was stored. Used under the list's lock.
  var isAnswered = false

  /// The sink's number in the run.
  var sink: Int { order.owner.sink }

  init(
    _ file: any RecordingFile, _ order: RecordingBook.Order, frames: UInt64?, isTold: Bool = true
  ) {
    self.file = file
    (self.order, self.isTold) = (order, isTold)
    self.frames = frames
    record = RecordingRecord(id: order.recording, sink: order.owner.name, path: file.path)
  }
}
