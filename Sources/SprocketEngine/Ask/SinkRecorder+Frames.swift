internal import SprocketCore
internal import Synchronization

// Frames: written, kept, or lost.
extension SinkRecorder {
  /// Returns whether a recording takes this admitted frame now. Before that, ends and splits recordings that
  /// have reached a limit.
  func takes(_ record: FrameRecord) -> Bool {
    waitingSince = nil
    if jobs.first?.isPaused == true { return false }
    if owesHistory { beginWithKept(before: record) }
    return !isCatchingUp && isTaken(record)
  }

  func isTaken(_ record: FrameRecord) -> Bool {
    upcoming = record
    goOnInDelayed(with: record)
    goOn(with: record)
    while let job = jobs.first, let reason = limitReached(job, record) {
      if reason != .split {
        end(0, reason, at: record.number)
      } else if !split(.split, at: record.number) {
        lastRefusal = record.captured
        break
      }
    }
    return !jobs.isEmpty
  }

  func noteWritten(_ record: FrameRecord) {
    guard let job = jobs.first else { return }
    pausedSince = nil
    job.written += 1
    job.record.counts[.delivered] += 1
    let mark = FrameMark(record)
    if job.record.firstFrame == nil {
      job.record.firstFrame = mark
      tellMoved(job)
    }
    if firstCaptured == nil { firstCaptured = record.captured }
    job.record.lastFrame = mark
    stamped.noteWritten(
      frames: job.written, bytes: job.file.byteCount, nanoseconds: job.record.nanoseconds)
    if job.written == job.frames { end(0, .asked, at: record.number + 1) }
  }

  /// Counts a frame that did not reach the sink. Returns whether the recording under way accounts for it.
  func noteLost(_ lost: LostFrame) -> Bool {
    waitingSince = nil
    guard !jobs.isEmpty else {
      state.counts[.unselected] += history?.addLost(lost) ?? 0
      return false
    }
    if owesHistory, isTaking { beginWithKept() }
    // Frames of an earlier recording, which ended without waiting for them, may come now.
    guard let job = jobs.first, lost.number >= job.record.begin ?? 0 else { return false }
    if job.isPaused {
      job.record.counts[lost.fate] += 1
      state.counts[.unselected] += history?.addLost(lost) ?? 0
      return false
    }
    if isCatchingUp, let history {
      _ = history.addLost(lost)
      return false
    }
    job.record.counts[lost.fate] += 1
    if job.frames != nil, isAdmitting, lost.fate != .missing, lost.fate != .overrun {
      // If the gate has not counted this frame, it admits one frame more than is wanted, which is allowed.
      stamped.returned.wrappingAdd(1, ordering: .releasing)
    }
    return true
  }

  /// Ends the recording under way, which could not be written. `loses` is the number of frames before
  /// `number` that were lost with the error.
  func fail(_ error: RunError, at number: UInt64, loses count: UInt64 = 0) {
    guard let job = jobs.first else { return }
    job.hasFailed = true
    job.record.counts[.failed] += count
    endWithError(error, at: number)
  }
}
