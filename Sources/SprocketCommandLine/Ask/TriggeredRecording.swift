internal import Sprocket
internal import SprocketPipelines

/// `--record-when`: records while a condition on the frames' reports holds, and for `keep` after it.
final class TriggeredRecording: Sendable {
  fileprivate struct State {
    var desk: RequestDesk?
    var recording: RecordingID?
    /// Capture time of the latest frame for which the condition held.
    var lastTrue: Timestamp?
    /// Capture time of the latest frame at which a request was refused, or a recording failed.
    var lastRefusal: Timestamp?
  }

  /// Time for which the recording goes on after the condition.
  private let keep: Duration
  private let state = Locked(State())
  private let refused: RefusedRequests

  var errors: [RunError] { refused.errors }

  init(keep: Duration, _ voice: Voice) {
    self.keep = keep
    refused = RefusedRequests(voice)
  }

  /// Lets the recording make requests from now on.
  func connect(_ desk: RequestDesk) { state.withLock { $0.desk = desk } }

  func note(holds: Bool, _ record: FrameRecord) {
    let error: RunError? = state.withLock { state -> RunError? in
      // Its movie may have been detached.
      guard let desk = state.desk, desk.recordsMovies else { return nil }
      do throws(RunError) {
        try state.note(holds, record, desk, keep)
        return nil
      } catch {
        state.lastRefusal = record.captured
        return error
      }
    }
    if let error { refused.add(error) }
  }
}

extension TriggeredRecording.State {
  /// Time until a request is repeated that was refused: 5 s. Larger: fewer messages, later recordings.
  private static let patience = Duration.seconds(5)

  fileprivate mutating func note(
    _ holds: Bool, _ record: FrameRecord, _ desk: RequestDesk, _ keep: Duration
  ) throws(RunError) {
    if let recording, !desk.engine.isUnderWay(recording) {
      self.recording = nil
      // The same cause would end the next recording at once.
      if [.disk, .error, .refused].contains(desk.engine.reason(of: recording)) {
        lastRefusal = record.captured
      }
    }
    if holds {
      lastTrue = record.captured
      guard recording == nil, lastRefusal == nil || isPast(lastRefusal, record, Self.patience)
      else {
        return
      }
      // Makes no request if a user has started a recording.
      if desk.current == nil {
        recording = try desk.make(.record(), AskedTime(moment: .frame(record.number))).recording
      }
    } else if let recording, isPast(lastTrue, record, keep) {
      self.recording = nil
      // An error only means that the recording has just ended by itself.
      do throws(RunError) { try desk.make(.stop(recording)) } catch {}
    }
  }

  private func isPast(_ start: Timestamp?, _ record: FrameRecord, _ limit: Duration) -> Bool {
    guard let start, let time = record.captured.nanoseconds(since: start) else { return false }
    return time >= limit.nanosecondCount
  }
}
