internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// The recordings of an on-demand sink, as its thread knows them. It outlives epochs.
///
/// Keeps of the contract of requests:
/// - A3: stamps are applied in order, each before the frame of its number is written or accounted for. If
///   the chain withholds frames and the source delivers no more, a recording that was stopped ends without
///   the withheld frames.
/// - A5: of requests at one number the later one holds. A recording without a frame gets a record, and no
///   file.
/// - A6: if there is no place for a split's file, the recording goes on in the same file, and a note says
///   so.
/// - A12: an error ends the recording and not the sink. A recording of n frames gets n, or the run's end is
///   an error.
/// - A14, A23: see `SinkRecorder+PreRoll.swift` and `SinkRecorder+Choices.swift`.
///
/// Unchecked: used by the sink's thread while it has a job, and by the engine before and after.
final class SinkRecorder: @unchecked Sendable {
  typealias Job = RecordingList.Job

  let recorder: any Recorder
  unowned let state: SinkState
  let shared: RunShared
  /// Frames with which recordings begin, and frames of which one may be chosen; `nil` if the sink keeps none.
  let (history, choices): (PacketHistory?, PacketHistory?)
  let stamped: StampedOutput
  let list: RecordingList
  private let finisher: Finisher
  /// The first recording's own, or the sink's.
  var limits: RecordingLimits { jobs.first?.file.ownLimits ?? recorder.limits }
  private(set) var nextStamp: UInt64 = 0
  /// Whether frames are admitted, as the latest applied stamp says.
  private(set) var isAdmitting = false
  /// Recordings that have begun, in order. The first one gets the frames.
  private(set) var jobs: [Job] = []
  /// Recordings of one chosen frame, which wait for the frame that comes next.
  var choosing: [Job] = []
  /// Whether `begin` of the recorder was called, and `end` was not.
  var hasBegun = false
  /// Whether the first recording has begun, and its pre-roll was not looked for yet.
  var owesHistory = false
  /// First frame of the first recording, and bytes of its earlier files.
  var firstCaptured: Timestamp?
  var earlierBytes: UInt64 = 0
  /// When the free space was checked last, and when a split last found no place.
  var lastDiskCheck: Timestamp?
  var lastRefusal: Timestamp?
  /// Files of the first recording that begin with its next key frame from a number on.
  var delayed: [(file: Job, number: UInt64)] = []
  /// The frame that comes next, while requests and limits before it are looked at.
  var upcoming: FrameRecord?
  /// When the time of the first recording stopped, from a pause up to its next frame, nanoseconds.
  var pausedSince: Int64?
  /// Since when the next stamp waits and no frame has come.
  var waitingSince: Int64?
  /// Frames below this number are `flushed`: a recording ended without waiting for them.
  var flushedEnd: UInt64 = 0
  /// Number of recordings that began later than asked, because another one took the frames.
  var movedCount = 0
  /// Why the sink cannot write the frames of this epoch; `nil` if it can.
  private(set) var suspension: RunError?

  init(
    _ state: SinkState, _ recorder: any Recorder, _ stamped: StampedOutput, list: RecordingList,
    finisher: Finisher, shared: RunShared
  ) throws(RunError) {
    self.state = state
    self.recorder = recorder
    self.stamped = stamped
    self.list = list
    self.finisher = finisher
    self.shared = shared
    let kept = try recorder.preRoll.map { preRoll throws(RunError) in try PacketHistory(preRoll) }
    (history, choices) = recorder.preRoll?.use == .choices ? (nil, kept) : (kept, nil)
    isAdmitting = kept != nil
  }

  /// Whether no recording is under way and no frame is kept for a later one.
  var keepsNothing: Bool { jobs.isEmpty && history == nil && choices == nil }

  /// Whether the sink needs no frame, and no stamp waits to change that.
  var isIdle: Bool { keepsNothing && !isAdmitting && pending == nil }

  /// The next stamp that was not applied; `nil` if there is none.
  var pending: Stamp? {
    guard nextStamp < stamped.stamps.end else { return nil }
    guard let stamp = stamped.stamps.entry(nextStamp).flatMap({ Stamp($0) }) else {
      preconditionFailure("a stamp was overwritten before its sink read it")
    }
    return stamp
  }

  /// Applies `pending`.
  func apply(_ stamp: Stamp) {
    nextStamp += 1
    stamped.read.store(nextStamp, ordering: .releasing)
    waitingSince = nil
    isAdmitting = stamp.step.isAdmitting
    if let file = stamp.step.file { goOn(in: file, at: stamp.number) }
    if let id = stamp.step.recording { apply(stamp.step.kind, id, at: stamp.number) }
  }

  private func apply(_ kind: Stamp.Kind, _ id: RecordingID, at number: UInt64) {
    switch kind {
    case .begin:
      guard let job = list.takeFirst(id) else { return }
      job.stampedFrame = number
      guard job.choice == nil else { return choosing.append(job) }
      jobs.append(job)
      if jobs.count == 1 { start(job, at: number) }
    case .end:
      if let index = jobs.firstIndex(where: { $0.record.id == id }) {
        end(index, .asked, at: number, isStamped: true)
      } else {
        for job in takeChoosing(id) { drop(job, .asked, at: number) }
        dropAll(id, .asked, at: number)
      }
    case .refuse: dropAll(id, .refused, at: number)
    case .pause, .resume: setPaused(kind == .pause, id, at: number)
    case .next, .change: break
    }
  }

  private func goOn(in file: FileID, at number: UInt64) {
    guard let job = list.takeNext(file) else { return }
    if jobs.first?.record.id == job.record.id {
      let isKey = upcoming.map { $0.number == number && $0.isKey } ?? false
      if state.dependence.isOn, !isKey {
        delayed.append((job, number))
      } else {
        goOn(in: job, .split, at: number, isStamped: true)
      }
    } else {
      drop(job, .asked, at: number)
    }
  }

  // MARK: Beginning and ending

  func endWithError(_ error: RunError, at number: UInt64) {
    jobs[0].record.error = error.description
    shared.fail(RunError(error, of: jobs[0].record.sink))
    end(0, .error, at: number)
  }

  /// Ends the recordings of the next epoch with `error`: the sink refused its format.
  func suspend(_ error: RunError) { suspension = error }

  /// Begins an epoch. A recording goes on in a new file if its file cannot hold the epoch's pictures.
  /// `isContinuous`: only other sinks have changed.
  func beginEpoch(at number: UInt64, isContinuous: Bool) {
    if !isContinuous {
      chooseAmongKept()
      dropHistory()
    }
    if let suspension { failChoices(suspension, at: number) }
    while let suspension, !jobs.isEmpty { endWithError(suspension, at: number) }
    guard !jobs.isEmpty, !recorder.fitsFile else { return }
    if !limits.endsAtDiscontinuity, split(.discontinuity, at: number) { return }
    end(0, .discontinuity, at: number)
  }

  /// Writes all kept frames of the recording under way, at the end of an epoch.
  func endEpoch() {
    writeKept()
    suspension = nil
  }

  /// Ends all recordings, at the run's end or, with a `reason`, when the sink is detached.
  func endAll(at number: UInt64, _ reason: RecordingEnd? = nil) {
    let failed = shared.sourceHasFailed.load(ordering: .acquiring)
    let reason = reason ?? (failed ? .device : .end)
    writeKept()
    if reason == .end { tellShort() }
    while !jobs.isEmpty { end(0, reason, at: number) }
    // A recording may have been asked for because of one of the kept frames, too late to begin.
    if history?.oldest != nil {
      for job in list.takeWaiting(sink: state.id, before: number, chosen: false) {
        jobs.append(job)
        start(job, at: number)
        writeKept()
        if reason == .end { tellShort() }
        if !jobs.isEmpty { end(0, reason, at: number) }
      }
    }
    tellOthersMoved()
    if choices != nil { endChoices(at: number) }
    dropHistory()
  }

  private func start(_ job: Job, at number: UInt64, isFirst: Bool = true) {
    if isFirst {
      (firstCaptured, pausedSince, lastDiskCheck) = (nil, nil, nil)
      (lastRefusal, earlierBytes) = (nil, 0)
    }
    job.record.begin = number
    if isFirst { job.record.asked = job.askedFrame ?? number }
    owesHistory = isFirst && history != nil
    state.dependence.restart()
    stamped.noteWritten()
    list.noteBegin(job)
    if let suspension { return endWithError(suspension, at: number) }
    do throws(RunError) {
      try recorder.begin(job.file)
      hasBegun = true
    } catch {
      fail(error, at: number)
    }
  }

  /// Ends a recording; the next one in the queue gets the frames. `isStamped`: a stamp asked for the end,
  /// so the gate needs no message.
  func end(
    _ index: Int, _ reason: RecordingEnd, at number: UInt64, isStamped: Bool = false
  ) {
    let id = jobs[index].record.id
    // Writing kept frames may split the recording, or end it earlier.
    if index == 0, isStamped { writeKept() }
    guard let index = jobs.firstIndex(where: { $0.record.id == id }) else { return }
    let job = jobs.remove(at: index)
    if index == 0 {
      endFile(at: number)
      if job.isPaused { dropHistory() }
      for (file, _) in delayed { drop(file, reason, at: number) }
      delayed = []
    }
    if !isStamped {
      // Added before the list accepts the next recording, so that the gate learns of the end first.
      let step = RequestPort.Step(sink: state.id, change: .ended(id))
      _ = shared.port.add(RequestPort.Entry(steps: [step], moment: .now), isOwn: true)
    }
    let unused = list.noteEnd(id, sink: state.id, reason)
    give(job, reason, at: number)
    for job in unused { drop(job, reason, at: number) }
    if index == 0, let next = jobs.first { start(next, at: number) }
  }

  /// Continues the recording under way in a file that the sink makes. Returns false if there is no place.
  func split(_ reason: RecordingEnd, at number: UInt64) -> Bool {
    guard let job = jobs.first else { return false }
    do throws(RunError) {
      guard let next = try list.makeFile(after: job) else {
        shared.note(
          "\(recorder.name): the disk was too slow to begin a new file; \(job.file.path) is longer")
        return false
      }
      goOn(in: next, reason, at: number)
    } catch {
      // The file that was written so far is whole.
      endWithError(error, at: number)
    }
    return true
  }

  /// Continues the recording under way in `next`. `isStamped`: a stamp asked for it, so kept frames go into
  /// the old file.
  func goOn(
    in next: Job, _ reason: RecordingEnd, at number: UInt64, isStamped: Bool = false
  ) {
    let id = jobs[0].record.id
    // Writing kept frames may end the recording.
    if isStamped { writeKept() }
    guard let job = jobs.first, job.record.id == id else { return drop(next, .asked, at: number) }
    endFile(at: number)
    earlierBytes += job.file.byteCount
    give(job, reason, at: number)
    (next.isPaused, next.record.isPaused) = (job.isPaused, job.isPaused)
    jobs[0] = next
    start(next, at: number, isFirst: false)
  }

  private func endFile(at number: UInt64) {
    if hasBegun { recorder.end(before: upcoming?.number == number ? upcoming?.captured : nil) }
    hasBegun = false
  }

  /// Ends a recording that has not begun.
  private func dropAll(_ id: RecordingID, _ reason: RecordingEnd, at number: UInt64) {
    for job in list.noteEnd(id, sink: state.id, reason) { drop(job, reason, at: number) }
  }

  /// Gives a file without frames to the finisher, which removes it.
  func drop(_ job: Job, _ reason: RecordingEnd, at number: UInt64) {
    job.record.begin = number
    give(job, reason, at: number)
  }

  func give(_ job: Job, _ reason: RecordingEnd, at number: UInt64) {
    // Frames that the chain withholds are lost to this recording.
    let seen = max(state.nextNumber, job.record.begin ?? number)
    if number > seen { job.record.counts[.flushed] += number - seen }
    job.record.end = number
    job.record.reason = reason
    job.durable = min(job.file.durableCount, job.written)
    finisher.add(job)
  }
}
