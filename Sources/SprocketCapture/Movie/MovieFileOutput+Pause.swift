internal import Sprocket

// Pauses of a recording.
extension MovieFileOutput {
  /// Whether the recording under way takes no frames (`pauseRecording`).
  public var isRecordingPaused: Bool {
    state.withLock { !$0.toEnd.isEmpty && !$0.isStopping && $0.isPaused }
  }

  /// Leaves out frames and sound from the next frame on, until `resumeRecording`. The movie has no gap: its
  /// time stops meanwhile. Does nothing if no recording is under way, or if it is paused.
  ///
  /// Throws if too many requests wait, and for a recording of sound alone. Cost: the file stays open; frames
  /// are not packed for it.
  public func pauseRecording() throws(CaptureError) { try setPaused(true) }

  /// Goes on with the next frame in the same file; where the camera's own H.264 or HEVC is recorded, with the
  /// next key frame. Does nothing if the recording is not paused.
  ///
  /// Throws if too many requests wait.
  public func resumeRecording() throws(CaptureError) { try setPaused(false) }

  private func setPaused(_ isPaused: Bool) throws(CaptureError) {
    if isPaused, sounds.isRecording {
      throw CaptureError(
        .settingsRefused,
        "a recording of sound alone cannot be paused; stop it, and begin another file")
    }
    let engine = core.run?.engine
    let error: CaptureError? = state.withLock { state in
      guard let id = state.id, !state.isStopping, state.isPaused != isPaused, let engine else {
        return nil
      }
      do throws(RunError) {
        try engine.ask([isPaused ? .pause(id) : .resume(id)])
        state.isPaused = isPaused
        return nil
      } catch {
        // It may have ended by itself.
        return engine.isUnderWay(id) ? CaptureError(error) : nil
      }
    }
    if let error { throw error }
  }
}
