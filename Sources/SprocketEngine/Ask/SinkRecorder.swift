internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// The recordings of an on-demand sink, as its thread knows them. It outlives epochs.
///
/// Keeps of the contract of requests:
/// - A3: stamps are applied in order, each before the frame of its number is written or accounted for.
/// - A5: of requests at one number the later one holds. A recording without a frame gets a record, and no file.
/// - A6: a split without a place for its file goes on in the same file, and a note says so.
/// - A12: an error ends the recording and not the sink. A recording of n frames gets n.
///
/// Unchecked: used by the sink's thread while it has a job, and by the engine before and after.
final class SinkRecorder: @unchecked Sendable {
  typealias Job = RecordingList.Job

  private let recorder: any Recorder
  private let stamped: StampedOutput
  private let sink: Int
  private let list: RecordingList
  private let finisher: Finisher
  private let shared: RunShared
  private let limits: RecordingLimits
  private var nextStamp: UInt64 = 0
  /// What the latest applied stamp said.
  private(set) var isAdmitting = false
  /// Recordings that have begun, in order; the first takes the frames.
  private var jobs: [Job] = []
  /// Number of the file within the first recording.
  private var part = 1
  /// First frame of the first recording, and bytes of its earlier files.
  private var firstCaptured: Timestamp?
  private var earlierBytes: UInt64 = 0
  /// When free space was asked for.
  private var lastDiskCheck: Timestamp?
  /// Since when the next stamp has waited for frames that the chain withholds.
  private var waitingSince: Int64?
  /// A recording ended before the frames below that number had come.
  private(set) var flushedEnd: UInt64 = 0

  init(
    _ state: SinkState, _ recorder: any Recorder, _ stamped: StampedOutput, list: RecordingList,
    finisher: Finisher, shared: RunShared
  ) {
    self.recorder = recorder
    self.stamped = stamped
    sink = state.index
    self.list = list
    self.finisher = finisher
    self.shared = shared
    limits = recorder.limits
  }

  var isRecording: Bool { !jobs.isEmpty }

  /// No frame is wanted, and no stamp says otherwise.
  var isIdle: Bool { jobs.isEmpty && !isAdmitting && pending == nil }

  /// The next stamp that was not applied yet.
  var pending: Stamp? {
    guard nextStamp < stamped.stamps.end else { return nil }
    return stamped.stamps.entry(nextStamp).flatMap { Stamp($0) }
  }

  /// Applies `pending`.
  func apply(_ stamp: Stamp) {
    nextStamp += 1
    stamped.read.store(nextStamp, ordering: .releasing)
    waitingSince = nil
    isAdmitting = stamp.step.isAdmitting
    if let id = stamp.step.recording { apply(stamp.step.kind, id, at: stamp.number) }
    settle()
  }

  private func apply(_ kind: Stamp.Kind, _ id: RecordingID, at number: UInt64) {
    switch kind {
    case .begin:
      guard let job = list.takeFile(id) else { return }
      jobs.append(job)
      if jobs.count == 1 { start(job, at: number) }
    case .next:
      guard let job = list.takeFile(id) else { return }
      if jobs.first?.record.id == id {
        goOn(in: job, .split, at: number)
      } else {
        drop(job, .asked, at: number)
      }
    case .end:
      guard let index = jobs.firstIndex(where: { $0.record.id == id }) else { return }
      end(index, .asked, at: number)
    case .refuse:
      _ = list.noteEnd(id, sink: sink).map { drop($0, .refused, at: number) }
    case .change: break
    }
  }

  // MARK: Frames

  /// Whether a recording takes this admitted frame. Ends and splits recordings that have reached a limit.
  func takes(_ record: FrameRecord) -> Bool {
    while let job = jobs.first, let reason = limitReached(job, record) {
      if reason != .split {
        end(0, reason, at: record.number)
      } else if !split(.split, at: record.number) {
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
    stamped.writtenBytes.store(job.file.byteCount, ordering: .relaxed)
    if job.written == job.frames { end(0, .asked, at: record.number + 1) }
  }

  /// A frame did not reach the recording under way.
  func noteLost(_ fate: Fate) {
    guard let job = jobs.first else { return }
    job.record.counts[fate] += 1
    guard job.frames != nil, isAdmitting, fate != .missing, fate != .overrun else { return }
    // The gate counted the frame.
    stamped.returned.wrappingAdd(1, ordering: .releasing)
  }

  /// The frame before `number` could not be written.
  func fail(_ error: RunError, at number: UInt64) {
    guard let job = jobs.first else { return }
    job.hasFailed = true
    job.record.error = error.description
    shared.fail(error)
    end(0, .error, at: number)
  }

  // MARK: Beginning and ending

  /// An epoch begins: a recording whose file cannot hold its pictures goes on in the next one.
  func beginEpoch(at number: UInt64) {
    guard !jobs.isEmpty, !recorder.fitsFile, !split(.discontinuity, at: number) else { return }
    end(0, .discontinuity, at: number)
  }

  /// The run ends.
  func endAll(at number: UInt64) {
    let reason = shared.sourceHasFailed.load(ordering: .acquiring) ? RecordingEnd.device : .end
    while !jobs.isEmpty { end(0, reason, at: number) }
  }

  /// The next stamp ends the recording, but frames before it have not come for `limit` nanoseconds: they are
  /// withheld for look-ahead, and the source delivers nothing. Ends the recording without them.
  func endEarly(_ stamp: Stamp, next: UInt64, limit: Int64) {
    let now = monotonicNow()
    guard let since = waitingSince else { return waitingSince = now }
    guard now - since > limit, stamp.step.kind == .end, flushedEnd < stamp.number,
      let index = jobs.firstIndex(where: { $0.record.id == stamp.step.recording })
    else { return }
    flushedEnd = stamp.number
    jobs[index].record.counts[.flushed] += stamp.number - min(next, stamp.number)
    end(index, .asked, at: stamp.number)
  }

  private func start(_ job: Job, at number: UInt64, isFirst: Bool = true) {
    if isFirst { (part, firstCaptured, earlierBytes, lastDiskCheck) = (1, nil, 0, nil) }
    job.record.begin = number
    stamped.writtenFrames.store(0, ordering: .relaxed)
    stamped.writtenBytes.store(0, ordering: .relaxed)
    list.noteBegin(job)
    do throws(RunError) { try recorder.begin(job.file) } catch { fail(error, at: number) }
  }

  /// Ends a recording: the next one in the queue takes the frames.
  private func end(_ index: Int, _ reason: RecordingEnd, at number: UInt64) {
    let job = jobs.remove(at: index)
    let id = job.record.id
    if index == 0 { recorder.end() }
    // Before the list says that the next recording may be asked for, which comes after it in the port.
    settle(ended: job.frames == nil ? id : nil)
    let unused = list.noteEnd(id, sink: sink)
    give(job, reason, at: number)
    for job in unused { drop(job, reason, at: number) }
    if index == 0, let next = jobs.first { start(next, at: number) }
  }

  /// Continues the recording under way in a file that the sink makes. False if there is no place for one.
  private func split(_ reason: RecordingEnd, at number: UInt64) -> Bool {
    guard let job = jobs.first else { return false }
    do throws(RunError) {
      guard let next = try list.makeFile(after: job, part: part + 1) else {
        shared.note(
          "\(recorder.name): the disk was too slow to begin a new file, so \(job.file.path) is longer")
        return false
      }
      goOn(in: next, reason, at: number)
    } catch {
      fail(error, at: number)
    }
    return true
  }

  private func goOn(in next: Job, _ reason: RecordingEnd, at number: UInt64) {
    let job = jobs[0]
    recorder.end()
    earlierBytes += job.file.byteCount
    give(job, reason, at: number)
    jobs[0] = next
    part += 1
    start(next, at: number, isFirst: false)
  }

  /// A file that is not needed.
  private func drop(_ job: Job, _ reason: RecordingEnd, at number: UInt64) {
    job.record.begin = number
    give(job, reason, at: number)
  }

  private func give(_ job: Job, _ reason: RecordingEnd, at number: UInt64) {
    job.record.end = number
    job.record.reason = reason
    job.durable = min(job.file.durableCount, job.written)
    finisher.add(job)
  }

  /// Tells the gate that frames are admitted which no recording takes.
  private func settle(ended: RecordingID? = nil) {
    guard ended != nil || isAdmitting && jobs.isEmpty else { return }
    let step = RequestPort.Step.settle(sink: sink, ended: ended, read: nextStamp)
    _ = shared.port.add(RequestPort.Entry(steps: [step], moment: .now), isOwn: true)
  }

  // MARK: Limits

  private func limitReached(_ job: Job, _ record: FrameRecord) -> RecordingEnd? {
    guard let first = firstCaptured else { return nil }
    let bytes = job.file.byteCount
    if let limit = limits.duration, record.isPast(limit, since: first) { return .duration }
    if let limit = limits.bytes, earlierBytes + bytes >= limit { return .size }
    if isDiskFull(job, record) { return .disk }
    guard job.written > 0, job.frames == nil, let start = job.record.firstFrame?.captured else {
      return nil
    }
    let isLong = limits.fileDuration.map { record.isPast($0, since: start) } ?? false
    return isLong || limits.fileBytes.map { bytes >= $0 } ?? false ? .split : nil
  }

  private func isDiskFull(_ job: Job, _ record: FrameRecord) -> Bool {
    guard let limit = limits.freeBytes else { return false }
    if let last = lastDiskCheck, !record.isPast(.seconds(1), since: last) { return false }
    lastDiskCheck = record.captured
    return job.file.freeByteCount.map { $0 < limit } ?? false
  }
}

extension FrameRecord {
  fileprivate func isPast(_ limit: Duration, since start: Timestamp) -> Bool {
    captured.nanoseconds(since: start).map { $0 >= limit.nanosecondCount } ?? false
  }
}
