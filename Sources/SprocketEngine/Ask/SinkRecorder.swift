internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// The recordings of an on-demand sink, as its thread knows them. It outlives epochs.
///
/// Keeps of the contract of requests:
/// - A3: stamps are applied in order, each before the frame of its number is written or accounted for.
///   Where the chain withholds frames and the source delivers none, a recording that is to end does so
///   without them.
/// - A5: of requests at one number the later one holds. A recording without a frame gets a record, and no
///   file.
/// - A6: a split without a place for its file goes on in the same file, and a note says so.
/// - A12: an error ends the recording and not the sink. A recording of n frames gets n.
/// - A14: see `SinkRecorder+PreRoll.swift`.
///
/// Unchecked: used by the sink's thread while it has a job, and by the engine before and after.
final class SinkRecorder: @unchecked Sendable {
  typealias Job = RecordingList.Job

  let recorder: any Recorder
  unowned let state: SinkState
  let shared: RunShared
  /// Of a sink with a pre-roll.
  let history: PacketHistory?
  let stamped: StampedOutput
  private let list: RecordingList
  private let finisher: Finisher
  let limits: RecordingLimits
  private var nextStamp: UInt64 = 0
  /// What the latest applied stamp said.
  private(set) var isAdmitting = false
  /// Recordings that have begun, in order; the first takes the frames.
  private(set) var jobs: [Job] = []
  /// `begin` of the recorder was called, and `end` was not.
  private var hasBegun = false
  /// The first recording has begun, and what was kept before is not written yet.
  var owesHistory = false
  /// First frame of the first recording, and bytes of its earlier files.
  var firstCaptured: Timestamp?
  var earlierBytes: UInt64 = 0
  /// When free space was asked for, and when there was no place for a split.
  var lastDiskCheck: Timestamp?
  var lastRefusal: Timestamp?
  /// Since when the next stamp has waited, and no frame came.
  var waitingSince: Int64?
  /// A recording ended before the frames below that number had come.
  private(set) var flushedEnd: UInt64 = 0
  /// The sink cannot write the frames of this epoch.
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
    limits = recorder.limits
    history = try recorder.preRoll.map { limits throws(RunError) in try PacketHistory(limits) }
    isAdmitting = history != nil
  }

  var isRecording: Bool { !jobs.isEmpty }

  /// What becomes of a frame is of interest to no recording, also not to a later one.
  var keepsNothing: Bool { jobs.isEmpty && history == nil }

  /// No frame is wanted, and no stamp says otherwise.
  var isIdle: Bool { keepsNothing && !isAdmitting && pending == nil }

  /// The next stamp that was not applied yet.
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
    if let id = stamp.step.recording { apply(stamp.step.kind, id, at: stamp.number) }
  }

  private func apply(_ kind: Stamp.Kind, _ id: RecordingID, at number: UInt64) {
    switch kind {
    case .begin:
      guard let job = list.takeFile(id, isPart: false) else { return }
      jobs.append(job)
      if jobs.count == 1 { start(job, at: number) }
    case .next:
      guard let job = list.takeFile(id, isPart: true) else { return }
      if jobs.first?.record.id == id {
        goOn(in: job, .split, at: number, isStamped: true)
      } else {
        drop(job, .asked, at: number)
      }
    case .end:
      if let index = jobs.firstIndex(where: { $0.record.id == id }) {
        end(index, .asked, at: number, isStamped: true)
      } else {
        dropAll(id, .asked, at: number)
      }
    case .refuse: dropAll(id, .refused, at: number)
    case .change: break
    }
  }

  // MARK: Beginning and ending

  func endWithError(_ error: RunError, at number: UInt64) {
    jobs[0].record.error = error.description
    shared.fail(error)
    end(0, .error, at: number)
  }

  /// The sink refused the format of the epoch that begins.
  func suspend(_ error: RunError) { suspension = error }

  /// An epoch begins: a recording whose file cannot hold its pictures goes on in the next one.
  func beginEpoch(at number: UInt64) {
    dropHistory()
    while let suspension, !jobs.isEmpty { endWithError(suspension, at: number) }
    guard !jobs.isEmpty, !recorder.fitsFile, !split(.discontinuity, at: number) else { return }
    end(0, .discontinuity, at: number)
  }

  /// An epoch has ended, or the run.
  func endEpoch() {
    writeKept()
    suspension = nil
  }

  func endAll(at number: UInt64) {
    let reason = shared.sourceHasFailed.load(ordering: .acquiring) ? RecordingEnd.device : .end
    writeKept()
    while !jobs.isEmpty { end(0, reason, at: number) }
    // Of a recording that was asked for because of a frame, that frame may be among the kept ones.
    if history?.oldest != nil {
      for job in list.takeWaiting(sink: state.index, before: number) {
        jobs.append(job)
        start(job, at: number)
        writeKept()
        if !jobs.isEmpty { end(0, reason, at: number) }
      }
    }
    dropHistory()
  }

  /// The next stamp waits for frames. If none has come for `limit` nanoseconds, and a recording is to end,
  /// it ends without them: the chain withholds them for look-ahead, and the source delivers nothing.
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

  /// The first stamp that is not applied and ends a recording.
  private var firstEnd: UInt64? {
    (nextStamp..<stamped.stamps.end).first { index in
      stamped.stamps.entry(index).flatMap { Stamp($0) }?.step.kind == .end
    }
  }

  private func start(_ job: Job, at number: UInt64, isFirst: Bool = true) {
    if isFirst {
      (firstCaptured, earlierBytes, lastDiskCheck, lastRefusal) = (nil, 0, nil, nil)
    }
    job.record.begin = number
    if isFirst { job.record.asked = job.askedFrame ?? number }
    owesHistory = isFirst && history != nil
    stamped.writtenFrames.store(0, ordering: .relaxed)
    stamped.writtenBytes.store(0, ordering: .relaxed)
    stamped.writtenTime.store(0, ordering: .relaxed)
    list.noteBegin(job)
    if let suspension { return endWithError(suspension, at: number) }
    do throws(RunError) {
      try recorder.begin(job.file)
      hasBegun = true
    } catch {
      fail(error, at: number)
    }
  }

  /// Ends a recording: the next one in the queue takes the frames. `isStamped`: the gate knows.
  func end(
    _ index: Int, _ reason: RecordingEnd, at number: UInt64, isStamped: Bool = false
  ) {
    let id = jobs[index].record.id
    // What is kept belongs to a recording that was asked to end, and may split it, or end it earlier.
    if index == 0, isStamped { writeKept() }
    guard let index = jobs.firstIndex(where: { $0.record.id == id }) else { return }
    let job = jobs.remove(at: index)
    if index == 0 { endFile() }
    if !isStamped {
      // Before the list says that the next recording may be asked for, which comes after it in the port.
      let step = RequestPort.Step.ended(id, sink: state.index)
      _ = shared.port.add(RequestPort.Entry(steps: [step], moment: .now), isOwn: true)
    }
    let unused = list.noteEnd(id, sink: state.index, reason)
    give(job, reason, at: number)
    for job in unused { drop(job, reason, at: number) }
    if index == 0, let next = jobs.first { start(next, at: number) }
  }

  /// Continues the recording under way in a file that the sink makes. False if there is no place for one.
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
      // The file so far is whole.
      endWithError(error, at: number)
    }
    return true
  }

  /// `isStamped`: from `number` on, as asked; else from the frame on that is about to be written.
  private func goOn(
    in next: Job, _ reason: RecordingEnd, at number: UInt64, isStamped: Bool = false
  ) {
    let id = jobs[0].record.id
    // What was kept may end the recording.
    if isStamped { writeKept() }
    guard let job = jobs.first, job.record.id == id else { return drop(next, .asked, at: number) }
    endFile()
    earlierBytes += job.file.byteCount
    give(job, reason, at: number)
    jobs[0] = next
    start(next, at: number, isFirst: false)
  }

  private func endFile() {
    if hasBegun { recorder.end() }
    hasBegun = false
  }

  /// Answers a recording that has not begun.
  private func dropAll(_ id: RecordingID, _ reason: RecordingEnd, at number: UInt64) {
    for job in list.noteEnd(id, sink: state.index, reason) { drop(job, reason, at: number) }
  }

  /// A file that is not needed.
  private func drop(_ job: Job, _ reason: RecordingEnd, at number: UInt64) {
    job.record.begin = number
    give(job, reason, at: number)
  }

  private func give(_ job: Job, _ reason: RecordingEnd, at number: UInt64) {
    // Frames that the chain withholds.
    let seen = max(state.nextNumber, job.record.begin ?? number)
    if number > seen { job.record.counts[.flushed] += number - seen }
    job.record.end = number
    job.record.reason = reason
    job.durable = min(job.file.durableCount, job.written)
    finisher.add(job)
  }
}
