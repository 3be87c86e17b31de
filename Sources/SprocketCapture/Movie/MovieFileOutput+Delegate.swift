internal import Sprocket

extension MovieFileOutput {
  /// Records until somebody calls `stopRecording`, a limit is reached, or the session ends it, and calls
  /// `delegate` where the caller is. Returns after its last callback. What cannot begin is told to the
  /// delegate, too. `limits` and `metadata` are as for `startRecording`.
  public nonisolated(nonsending) func record(
    to path: String, limits: RecordingLimits? = nil, metadata: MovieMetadata? = nil,
    delegate: some RecordingDelegate
  ) async {
    let recording: Recording
    do throws(CaptureError) {
      recording = try startRecording(to: path, limits: limits, metadata: metadata)
    } catch {
      return delegate.fileOutput(self, didFinishRecording: RecordingResult(path: path, error))
    }
    for await event in recording.events {
      switch event {
      case .didStart(let path): delegate.fileOutput(self, didStartRecordingTo: path)
      case .didPause(let path): delegate.fileOutput(self, didPauseRecordingTo: path)
      case .didResume(let path): delegate.fileOutput(self, didResumeRecordingTo: path)
      case .didFinish(let result): delegate.fileOutput(self, didFinishRecording: result)
      }
    }
    if recording.result == nil {
      // The task was cancelled, so its caller waits no longer for the recording's end.
      recording.stop()
      delegate.fileOutput(self, didFinishRecording: await recording.finished())
    }
  }
}
