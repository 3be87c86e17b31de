internal import SprocketCore
internal import Synchronization

/// Recordings of one frame that is chosen by its time.
///
/// Keeps of the contract of requests:
/// - A23: a frame is chosen when the first frame has come from which the request holds: then all frames up
///   to the time that was asked for are kept, or known to be lost. What is chosen stays kept, for the next
///   request. A frame has its fate once, whoever chooses it. If the right frame is not kept any more, none
///   is given.
extension SinkRecorder {
  /// Keeps a frame of which a recording may be made later, after it was offered to those that wait.
  /// `isCounted`: the sink's account has it already. Returns false if the sink keeps no frames for choices,
  /// or cannot write frames of this format.
  func keep(_ frame: borrowing PackedFrame, isCounted: Bool) -> Bool {
    guard let choices, suspension == nil else { return false }
    let record = frame.record
    recorder.withHeldBytes(of: frame) { bytes in
      var isCounted = isCounted
      if !choosing.isEmpty { choose(among: choices, record, bytes, &isCounted) }
      state.counts[.unselected] += choices.add(record, bytes, isCounted: isCounted)
    }
    return true
  }

  /// Makes the recordings whose frame is among the kept ones although no more frames come.
  func chooseAmongKept() {
    guard let choices else { return }
    // Where none of them is after the time, the first frame of the next epoch is.
    let later = choosing.filter { job in
      job.choice?.rule == .atOrAfter
        && time(of: job, choices, nil).flatMap {
          choices.choose(.atOrAfter, at: $0, newcomer: nil)
        } == nil
    }
    choosing.removeAll { job in later.contains { $0 === job } }
    var isCounted = true
    choose(among: choices, nil, Span(), &isCounted)
    choosing = later
  }

  /// Answers all requests at the end.
  func endChoices(at number: UInt64) {
    choosing += list.takeWaiting(sink: state.id, before: number, chosen: true)
    if let suspension { failChoices(suspension, at: number) }
    guard let choices else { return }
    var isCounted = true
    choose(among: choices, nil, Span(), &isCounted)
  }

  func failChoices(_ error: RunError, at number: UInt64) {
    for job in takeChoosing() { fail(choice: job, error, at: number) }
  }

  /// Takes the requests that wait: of that recording, or all.
  func takeChoosing(_ id: RecordingID? = nil) -> [Job] {
    let taken = choosing.filter { id == nil || $0.record.id == id }
    choosing.removeAll { id == nil || $0.record.id == id }
    return taken
  }

  /// Makes a recording of each request that waits. `newcomer` is the frame that has come, with its bytes.
  private func choose(
    among choices: PacketHistory, _ newcomer: FrameRecord?, _ bytes: Span<UInt8>,
    _ isCounted: inout Bool
  ) {
    guard !choosing.isEmpty else { return }
    // A recorder writes one recording at a time.
    let isInterrupted = hasBegun
    if isInterrupted { recorder.end(before: nil) }
    hasBegun = false
    for job in takeChoosing() {
      let time = time(of: job, choices, newcomer)
      let chosen = time.flatMap { time in
        job.choice.flatMap { choices.choose($0.rule, at: time, newcomer: newcomer?.captured) }
      }
      switch (chosen, newcomer) {
      case (.kept(let index), _):
        let entry = choices.entries[index]
        choices.withBytes(of: entry) { write(job, entry.record, $0, isCounted: entry.isCounted) }
        choices.noteCounted(index)
      case (.newcomer, let record?):
        write(job, record, bytes, isCounted: isCounted)
        isCounted = true
      default:
        fail(
          choice: job, unreachable(choices, newcomer, time),
          at: newcomer?.number ?? state.nextNumber)
      }
    }
    guard isInterrupted, let job = jobs.first else { return }
    do throws(RunError) {
      try recorder.begin(job.file)
      hasBegun = true
    } catch {
      fail(error, at: newcomer?.number ?? state.nextNumber)
    }
  }

  /// The time that a request is about; `nil` if there is no frame from which it could be counted.
  private func time(
    of job: Job, _ choices: PacketHistory, _ newcomer: FrameRecord?
  ) -> Timestamp? {
    let latest = newcomer?.captured ?? choices.captured(from: job.stampedFrame ?? .max)
    if let time = job.chosenTime, latest == nil || latest?.clock == time.clock { return time }
    // Counted back from the frame that was asked for, or else from the first that has come since.
    var start = latest
    if let asked = job.askedFrame {
      if choices.hasDropped(from: asked) { return nil }
      start = choices.captured(from: asked) ?? latest
    } else if let asked = asked(job, latest) {
      if choices.hasDropped(from: asked) { return nil }
      start = choices.captured(from: asked) ?? latest
    }
    return start.flatMap { start in
      if case .captured(let time) = Moment.captured(start).earlier(by: job.choice?.ago ?? .zero) {
        time
      } else {
        nil
      }
    }
  }

  /// The time that was asked for, counted from the run's first frame. `clock` has the source's clock.
  private func asked(_ job: Job, _ clock: Timestamp?) -> Timestamp? {
    let first = shared.firstCapture.load(ordering: .relaxed)
    guard let asked = job.askedTime, var time = clock, first != .min else { return nil }
    time.nanoseconds = first.clampedSum(asked.nanosecondCount)
    return time
  }

  private func unreachable(
    _ choices: PacketHistory, _ newcomer: FrameRecord?, _ time: Timestamp?
  ) -> RunError {
    if newcomer == nil, time.flatMap({ choices.reach(to: $0) }) ?? 0 >= 0 {
      return RunError(.failed, "the run ended before a frame of that time had come; ask earlier")
    }
    let reach = choices.reach(to: newcomer?.captured) ?? 0
    let kept = Duration.milliseconds(max(0, reach) / 1_000_000).settingText
    return RunError(
      .failed,
      "no frame of that time is kept, but those of the latest \(kept); ask for one of these, or give the "
        + "pre-roll more time and memory")
  }

  private func write(
    _ job: Job, _ record: FrameRecord, _ bytes: Span<UInt8>, isCounted: Bool
  ) {
    job.countsFrames = !isCounted
    job.record.begin = record.number
    job.record.asked = job.askedFrame ?? job.stampedFrame
    list.noteBegin(job, isBeside: true)
    do throws(RunError) {
      try recorder.begin(job.file)
      defer { recorder.end(before: nil) }
      try recorder.write(held: bytes, record)
      job.written = 1
    } catch {
      if !isCounted { state.counts[.failed] += 1 }
      job.hasFailed = true
      job.record.counts[.failed] += 1
      return fail(choice: job, error, at: record.number + 1)
    }
    if !isCounted {
      state.counts[.delivered] += 1
      state.delivered.add()
    }
    job.record.counts[.delivered] += 1
    (job.record.firstFrame, job.record.lastFrame) = (FrameMark(record), FrameMark(record))
    end(choice: job, .asked, at: record.number + 1)
  }

  private func fail(choice job: Job, _ error: RunError, at number: UInt64) {
    job.record.error = error.description
    shared.fail(RunError(error, of: job.record.sink))
    end(choice: job, .error, at: number)
  }

  private func end(choice job: Job, _ reason: RecordingEnd, at number: UInt64) {
    if job.record.begin == nil { job.record.begin = number }
    for unused in list.noteEnd(job.record.id, sink: state.id, reason) {
      drop(unused, reason, at: number)
    }
    give(job, reason, at: number)
  }
}
