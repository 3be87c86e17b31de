internal import SprocketCore
internal import Synchronization

/// What becomes of frames.
extension SinkRecorder {
  /// Whether a recording takes this admitted frame now. Ends and splits recordings that have reached a limit.
  func takes(_ record: FrameRecord) -> Bool {
    waitingSince = nil
    if owesHistory { beginWithKept(before: record) }
    return !isCatchingUp && isTaken(record)
  }

  func isTaken(_ record: FrameRecord) -> Bool {
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
    job.written += 1
    job.record.counts[.delivered] += 1
    let mark = FrameMark(record)
    if job.record.firstFrame == nil { job.record.firstFrame = mark }
    if firstCaptured == nil { firstCaptured = record.captured }
    job.record.lastFrame = mark
    stamped.writtenFrames.store(job.written, ordering: .relaxed)
    stamped.writtenTime.store(job.record.nanoseconds, ordering: .relaxed)
    stamped.writtenBytes.store(job.file.byteCount, ordering: .relaxed)
    if job.written == job.frames { end(0, .asked, at: record.number + 1) }
  }

  /// A frame did not reach the sink. Returns whether the recording under way is to be told.
  func noteLost(_ lost: LostFrame) -> Bool {
    waitingSince = nil
    guard !jobs.isEmpty else {
      state.counts[.unselected] += history?.addLost(lost) ?? 0
      return false
    }
    if owesHistory { beginWithKept() }
    // After an end without withheld frames these come later.
    guard let job = jobs.first, lost.number >= job.record.begin ?? 0 else { return false }
    if isCatchingUp, let history {
      _ = history.addLost(lost)
      return false
    }
    job.record.counts[lost.fate] += 1
    if job.frames != nil, isAdmitting, lost.fate != .missing, lost.fate != .overrun {
      // The gate has counted the frame, or admits one more than is wanted.
      stamped.returned.wrappingAdd(1, ordering: .releasing)
    }
    return true
  }

  /// The recording under way could not be written. `loses`: frames before `number` that were lost by that.
  func fail(_ error: RunError, at number: UInt64, loses count: UInt64 = 0) {
    guard let job = jobs.first else { return }
    job.hasFailed = true
    job.record.counts[.failed] += count
    endWithError(error, at: number)
  }
}
