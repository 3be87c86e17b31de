internal import SprocketCore
internal import SprocketRing

// Limits at which a recording ends, or goes on in its next file.
extension SinkRecorder {
  /// Notes that a recording begins later than it was asked to, because another one took the frames. Called
  /// when its first frame is written. The first such recording is told at once, the number of others at the
  /// end.
  func tellMoved(_ job: Job) {
    guard let asked = job.stampedFrame, let begin = job.record.begin, asked < begin else { return }
    movedCount += 1
    guard movedCount == 1 else { return }
    shared.note(
      "\(recorder.name): recording \(job.record.id) begins at frame \(begin), and not at \(asked) as asked: "
        + "another recording took the frames before")
  }

  /// Tells how many recordings began later than asked, after the first one.
  func tellOthersMoved() {
    guard movedCount > 1 else { return }
    let others = movedCount > 2 ? "\(movedCount - 1) more recordings" : "1 more recording"
    shared.note("\(recorder.name): \(others) began later than asked, for the same reason")
    movedCount = 1
  }

  /// Tells that the run has ended before recordings had the number of frames that was asked for.
  func tellShort() {
    let short = jobs.filter { $0.written < $0.frames ?? 0 }
    guard let job = short.first, let frames = job.frames else { return }
    let others = short.count > 1 ? "; others with too few: \(short.count - 1)" : ""
    let (written, wanted) = (job.earlierFrames + job.written, job.earlierFrames + frames)
    shared.tellShort(
      "\(recorder.name): the run ended when recording \(job.record.id) had \(written) of its \(wanted) "
        + "frames\(others)")
  }

  /// Ends a stopped recording without its last frames if none has come for `limit` nanoseconds: the chain
  /// withholds them as look-ahead, and the source delivers no more.
  func endEarly(limit: Int64) {
    let now = monotonicNow()
    guard let since = waitingSince else {
      waitingSince = now
      return
    }
    guard now - since > limit, let end = firstEnd else { return }
    while let stamp = pending, nextStamp <= end {
      flushedEnd = stamp.number
      apply(stamp)
    }
  }

  /// The first stamp that ends a recording and was not applied.
  private var firstEnd: UInt64? {
    (nextStamp..<stamped.stamps.end).first { index in
      stamped.stamps.entry(index).flatMap { Stamp($0) }?.step.kind == .end
    }
  }

  /// Goes on in the files that waited for a key frame.
  func goOnInDelayed(with record: FrameRecord) {
    guard state.dependence.mayBegin(with: record) else { return }
    while let next = delayed.first, next.number <= record.number {
      delayed.removeFirst()
      // The file before may have failed.
      guard jobs.first?.record.id == next.file.record.id else {
        drop(next.file, .asked, at: record.number)
        continue
      }
      goOn(in: next.file, .split, at: record.number)
    }
  }

  func limitReached(_ job: Job, _ record: FrameRecord) -> RecordingEnd? {
    if isDiskFull(job, record) { return .disk }
    guard let first = firstCaptured else { return nil }
    let (limits, bytes) = (self.limits, job.file.byteCount)
    let start = job.written > 0 ? job.start : nil
    // Limits of a file's own are about that file, others about all files of the recording.
    let isOwn = job.file.ownLimits != nil
    if let limit = limits.duration, let begin = isOwn ? start : first,
      record.isPast(limit, since: begin)
    {
      return .duration
    }
    if let limit = limits.bytes, (isOwn ? 0 : earlierBytes) + bytes >= limit { return .size }
    guard let start else { return nil }
    if let lastRefusal, !record.isPast(Self.patience, since: lastRefusal) { return nil }
    let isLong = limits.fileDuration.map { record.isPast($0, since: start) } ?? false
    guard isLong || limits.fileBytes.map({ bytes >= $0 }) ?? false else { return nil }
    if state.dependence.mayBegin(with: record) { return .split }
    state.dependence.ask()
    return nil
  }

  /// Recorded time after which a split is tried again that found no place for its file. Larger: fewer
  /// attempts, longer files. Chosen: short beside a file's usual length, and at most ten attempts per second.
  private static let patience = Duration.milliseconds(100)

  private func isDiskFull(_ job: Job, _ record: FrameRecord) -> Bool {
    guard let limit = limits.freeBytes else { return false }
    if let last = lastDiskCheck, !record.isPast(.seconds(1), since: last) { return false }
    lastDiskCheck = record.captured
    return job.file.freeByteCount.map { $0 < limit } ?? false
  }
}

extension RecordingJob {
  /// When its first frame was captured, later by its pauses.
  fileprivate var start: Timestamp? {
    var start = record.firstFrame?.captured
    if let time = start?.nanoseconds {
      start?.nanoseconds = time.clampedSum(record.pausedNanoseconds)
    }
    return start
  }
}

extension FrameRecord {
  fileprivate func isPast(_ limit: Duration, since start: Timestamp) -> Bool {
    captured.nanoseconds(since: start).map { $0 >= limit.nanosecondCount } ?? false
  }
}
