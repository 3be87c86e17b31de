internal import SprocketCore

/// A file and its record, on their way from the caller of `ask` to the sink's thread and to the finisher.
///
/// Unchecked: one thread uses it at a time.
final class RecordingJob: @unchecked Sendable {
  let file: any RecordingFile
  var record: RecordingRecord
  let sink: Int
  /// The recording ends after so many frames.
  let frames: UInt64?
  /// The frame that was asked for, which may be a past one.
  var askedFrame: UInt64?
  var written: UInt64 = 0
  /// `durableCount` of the file when the finisher received it.
  var durable: UInt64 = 0
  /// A write failed, so the file is not finished.
  var hasFailed = false
  /// Whether it is a further file of a recording, and not the first.
  let isPart: Bool
  /// Whether its record was stored. Used under the list's lock.
  var isAnswered = false

  init(
    _ file: any RecordingFile, id: RecordingID, sink: (index: Int, name: String), frames: UInt64?,
    isPart: Bool
  ) {
    self.isPart = isPart
    self.file = file
    record = RecordingRecord(id: id, sink: sink.name, path: file.path)
    self.sink = sink.index
    self.frames = frames
  }
}
