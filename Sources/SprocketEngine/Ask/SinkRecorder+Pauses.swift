internal import SprocketCore

/// Pauses: a recording stays under way and takes no frames.
///
/// Keeps of the contract of requests:
/// - A24: the recording's record counts frames of a pause as `unselected`. The file does not have them, and
///   its time stops during the pause. The recording goes on with the frame of the stamp, without frames that
///   were kept before it.
extension SinkRecorder {
  var isRecording: Bool { !jobs.isEmpty }

  /// Whether a recording takes frames: it is under way, and not paused.
  var isTaking: Bool { jobs.first.map { !$0.isPaused } ?? false }

  /// Pauses a recording, or goes on with it: without frames that were kept meanwhile.
  func setPaused(_ isPaused: Bool, _ id: RecordingID, at number: UInt64) {
    if isPaused, jobs.first?.record.id == id { writeKept() }
    guard let job = jobs.first(where: { $0.record.id == id }), job.isPaused != isPaused else {
      return
    }
    (job.isPaused, job.record.isPaused) = (isPaused, isPaused)
    if job === jobs.first {
      if isPaused, hasBegun, job.written > 0 {
        let next = upcoming?.number == number ? upcoming?.captured : nil
        let stopped = recorder.pause(before: next) ?? job.record.lastFrame?.captured.nanoseconds
        // A pause that follows before a frame was written is the same one.
        pausedSince = pausedSince ?? stopped
      } else if !isPaused {
        dropHistory()
        state.dependence.restart()
      }
    }
    list.notePause(job)
  }

  /// The first recording may take this frame: what lies between it and a pause before it is no time of the
  /// recording. Until one is written, the next one goes on counting.
  func goOn(with frame: FrameRecord) {
    guard let since = pausedSince, let job = jobs.first else { return }
    let pause = frame.captured.nanoseconds.clampedDifference(since)
    pausedSince = frame.captured.nanoseconds
    if job.record.firstFrame != nil { job.record.pausedNanoseconds += pause }
    if let first = firstCaptured?.nanoseconds {
      firstCaptured?.nanoseconds = first.clampedSum(pause)
    }
  }

  /// A frame was kept for later recordings: the one under way has it not, if it is paused.
  func noteHeld() {
    if let job = jobs.first, job.isPaused { job.record.counts[.unselected] += 1 }
  }
}
