public import Sprocket

/// What became of a recording.
public struct RecordingResult: Sendable {
  public let path: String
  /// `nil` where it ended as asked, by `stop`, by the next file or by the session's stop. A limit that was
  /// reached is an error, too, of a file that can be used.
  public let error: CaptureError?
  /// Whether there is a file that can be played, wholly or up to its last durable frame.
  public let isUsable: Bool
  /// Why it ended; `nil` where it did not begin.
  public let reason: RecordingEnd?
  /// From the first frame to the last, without pauses.
  public let duration: Duration
  /// Frames in the file, and those of its time that are not, by fate.
  public let counts: FateCounts
  public let byteCount: UInt64
  /// `nil` in a recording of sound alone.
  public let firstFrame: FrameMark?
  public let lastFrame: FrameMark?
  /// Sentences about the file: for example that a microphone was added while it was recorded.
  public internal(set) var notes: [String] = []
  /// Samples of a recording of sound alone; 0 for movies.
  let soundSamples: UInt64

  init(_ record: RecordingRecord) {
    path = record.path
    isUsable = record.isUsable
    reason = record.reason
    duration = .nanoseconds(record.nanoseconds)
    counts = record.counts
    byteCount = record.byteCount
    (firstFrame, lastFrame) = (record.firstFrame, record.lastFrame)
    error = CaptureError(record)
    soundSamples = 0
  }

  /// Describes a complete file of sound alone.
  init(
    _ file: AudioFileAccount, seconds: Double, _ byteCount: UInt64, _ reason: RecordingEnd
  ) {
    (path, isUsable, soundSamples) = (file.path, true, file.samples)
    (self.reason, self.byteCount, counts) = (reason, byteCount, FateCounts())
    (firstFrame, lastFrame) = (nil, nil)
    duration = .nanoseconds(Int64(nearest: seconds * 1e9))
    let isLimit = reason != .asked && reason != .end
    error = isLimit ? CaptureError(.limitReached, endOf: file.path, reason.sentence) : nil
  }

  /// Of a recording that did not begin.
  init(path: String, _ error: CaptureError) {
    (self.path, self.error) = (path, error)
    (isUsable, reason, duration, counts, byteCount) = (false, nil, .zero, FateCounts(), 0)
    (firstFrame, lastFrame) = (nil, nil)
    soundSamples = 0
  }
}

extension CaptureError {
  fileprivate init(_ code: Code, endOf path: String, _ why: String?) {
    self.init(code, "the recording \(path) has ended: \(why ?? "it has ended")")
  }

  /// Why a recording ended, if that is an error.
  fileprivate init?(_ record: RecordingRecord) {
    let isEmpty = record.counts[.delivered] == 0
    let code: Code
    switch record.reason {
    case .asked, .split, .end, nil:
      guard isEmpty || record.error != nil else { return nil }
      code = record.error == nil ? .cancelled : .failed
    case .duration, .size, .disk: code = .limitReached
    case .discontinuity, .detached: code = .sessionChanged
    case .device: code = .deviceNotFound
    case .error: code = .failed
    case .refused: code = .busy
    }
    let why =
      record.error ?? (isEmpty ? "no frame came" : record.reason?.sentence ?? "it has ended")
    self.init(code, endOf: record.path, why)
  }
}

/// What happens to a recording.
public enum RecordingEvent: Sendable {
  /// It has begun. Does not come if it could not begin; if it is stopped at once, it may end without a frame.
  case didStart(path: String)
  /// It takes no frames from here on (`MovieFileOutput.pauseRecording`).
  case didPause(path: String)
  /// It takes frames again.
  case didResume(path: String)
  /// Once, and last.
  case didFinish(RecordingResult)
}

/// Receives the events of a recording, on the actor that started it. One function is required.
public protocol RecordingDelegate: AnyObject {
  /// Called when the file is begun.
  func fileOutput(_ output: MovieFileOutput, didStartRecordingTo path: String)
  /// Called when the recording takes no more frames for the time being.
  func fileOutput(_ output: MovieFileOutput, didPauseRecordingTo path: String)
  /// Called when it takes frames again.
  func fileOutput(_ output: MovieFileOutput, didResumeRecordingTo path: String)
  /// Called exactly once for each recording that was asked for, also if nothing was written.
  func fileOutput(_ output: MovieFileOutput, didFinishRecording result: RecordingResult)
}

extension RecordingDelegate {
  public func fileOutput(_ output: MovieFileOutput, didStartRecordingTo path: String) {}
  public func fileOutput(_ output: MovieFileOutput, didPauseRecordingTo path: String) {}
  public func fileOutput(_ output: MovieFileOutput, didResumeRecordingTo path: String) {}
}
