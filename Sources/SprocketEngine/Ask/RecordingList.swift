internal import SprocketCore
internal import Synchronization

/// The recordings of a run: asked for, under way, and ended.
///
/// Keeps of the contract of requests:
/// - A1: requests that are asked together become one entry of the port. A request about a recording that has
///   ended is refused with the reason of its end.
/// - A6: a recording, and each further file, takes a place when it is asked for and gives it back with its
///   record. Without a place the request is refused; no request is refused later for want of one.
///
/// The source's thread never takes the lock.
final class RecordingList: Sendable {
  typealias Job = RecordingJob

  /// Files that are asked for and not yet complete. Larger: a slower disk refuses fewer requests, at the
  /// cost of as many open files.
  static let capacity = 64
  /// Records of complete files that are kept. Larger: later questions are answered, at some 400 bytes each.
  static let kept = 1024
  /// Frames that a recording may count, so that sums of some recordings fit into 64 bits.
  static let mostFrames: UInt64 = 1 << 48

  struct Output {
    let name: String
    let recorder: UncheckedRecorder
    let stamped: StampedOutput
    var nextIndex = 1
    /// Recordings that have not ended. Those without a count first.
    var underWay: [(id: RecordingID, counts: Bool)] = []

    /// The recording without a count.
    var open: RecordingID? { underWay.first { !$0.counts }?.id }
  }

  /// Unchecked: `prepare` alone is called, which any thread may do.
  struct UncheckedRecorder: @unchecked Sendable {
    let recorder: any Recorder
  }

  struct State {
    /// By the sink's index.
    var outputs: [Int: Output] = [:]
    var nextID: UInt64 = 1
    var unfinished = 0
    /// Files that have not begun yet, in order.
    var waiting: [Job] = []
    /// Of files under way, by sink.
    var current: [Int: RecordingRecord] = [:]
    /// Of files that the finisher has.
    var completing: [Job] = []
    /// Why recordings ended, the latest ones.
    var reasons: [(id: RecordingID, reason: RecordingEnd)] = []
    var records: [RecordingRecord] = []
    var endedCount = 0
    /// Frames that were written and then lost with their file, by sink.
    var lost: [Int: UInt64] = [:]
    /// Recordings that were asked to end at once.
    var ending: Set<RecordingID> = []
    var isClosed = false
  }

  let state = Mutex(State())
  let port: RequestPort

  init(_ sinks: [SinkState], _ port: RequestPort) {
    self.port = port
    state.withLock { state in
      for sink in sinks {
        guard let recorder = sink.recorder, let stamped = sink.stamped else { continue }
        state.outputs[sink.index] = Output(
          name: sink.sink.name, recorder: UncheckedRecorder(recorder: recorder), stamped: stamped)
      }
    }
  }

  /// Names of the sinks that can be asked.
  var outputNames: [String] { state.withLock { $0.outputs.values.map(\.name).sorted() } }

  // MARK: For the caller of `ask`

  /// Takes places, makes files, and adds one entry to the port: for all of the requests, or for none. Returns
  /// the recording of each.
  func ask(_ requests: [Request], at moment: Moment) throws(RunError) -> [RecordingID] {
    var jobs: [Job?] = []
    do throws(RunError) {
      guard requests.count <= RequestPort.mostTogether else {
        throw RunError(.usage, "at most \(RequestPort.mostTogether) requests can be asked together")
      }
      for request in requests { jobs.append(try prepare(request)) }
      return try add(requests, jobs, moment)
    } catch {
      for job in jobs { job?.file.abandon() }
      giveBack(jobs.count { $0 != nil })
      throw error
    }
  }

  /// Takes a place and makes a file, for a request that needs one.
  private func prepare(_ request: Request) throws(RunError) -> Job? {
    switch request {
    case .record(let name, let path, let frames):
      guard 1...Self.mostFrames ~= frames ?? 1 else {
        throw RunError(.usage, "a recording has 1 to \(Self.mostFrames) frames")
      }
      let sink = try sink(named: name)
      return try prepare(nil, sink: sink, path: path, frames: frames)
    case .next(let id, let path):
      let sink = try sink(recording: id)
      return try prepare(id, sink: sink, path: path, frames: nil)
    case .stop: return nil
    }
  }

  /// Takes a place, and the number of the next file of that sink; `nil` if there is no place.
  func takePlace(
    _ id: RecordingID?, sink: Int, path: String?
  ) -> (output: Output, id: RecordingID)? {
    state.withLock { state in
      guard var output = state.outputs[sink], state.unfinished < Self.capacity else { return nil }
      state.unfinished += 1
      if path == nil {
        output.nextIndex += 1
        state.outputs[sink] = output
        output.nextIndex -= 1
      }
      if id == nil { state.nextID += 1 }
      return (output, id ?? RecordingID(state.nextID - 1))
    }
  }

  /// Makes the file of a recording: a further one if the recording has an `id` already.
  private func prepare(
    _ id: RecordingID?, sink: Int, path: String?, frames: UInt64?
  ) throws(RunError) -> Job {
    guard let place = takePlace(id, sink: sink, path: path) else {
      throw RunError(
        .failed,
        "\(Self.capacity) files are still being completed; ask again when the disk has caught up")
    }
    return try makeFile(place, sink: sink, path: path, frames: frames, isPart: id != nil, part: 1)
  }

  func makeFile(
    _ place: (output: Output, id: RecordingID), sink: Int, path: String?, frames: UInt64?,
    isPart: Bool, part: Int
  ) throws(RunError) -> Job {
    let index = path == nil ? place.output.nextIndex : part
    do throws(RunError) {
      let file = try place.output.recorder.recorder.prepare(
        RecordingOrder(path: path, index: index, isMadeUp: index > 1))
      return Job(
        file, id: place.id, sink: (sink, place.output.name), path: path, frames: frames,
        isPart: isPart)
    } catch {
      giveBack(1)
      throw error
    }
  }

  private func sink(named name: String) throws(RunError) -> Int {
    let (found, known) = state.withLock { state in
      (
        state.outputs.first { $0.value.name == name }?.key,
        state.outputs.values.map(\.name).sorted()
      )
    }
    if let found { return found }
    throw RunError(
      .usage,
      known.isEmpty
        ? "this run has no on-demand sink; make one that waits for requests"
        : "no on-demand sink is called \(name); " + knownNames(known, near: name))
  }

  private func sink(recording id: RecordingID) throws(RunError) -> Int {
    let result: Result<Int, RunError> = state.withLock { state in
      let found = state.outputs.first { $0.value.underWay.contains { $0.id == id } }
      return found.map { .success($0.key) } ?? .failure(Self.hasEnded(id, state))
    }
    return try result.get()
  }

  static func hasEnded(_ id: RecordingID, _ state: borrowing State) -> RunError {
    let reason = state.reasons.last { $0.id == id }?.reason.sentence
    if let reason { return RunError(.usage, "recording \(id) has ended: \(reason)") }
    let isKnown = id.number > 0 && id.number < state.nextID
    return RunError(
      .usage, isKnown ? "recording \(id) has ended long ago" : "there is no recording \(id)")
  }

  private func add(
    _ requests: [Request], _ jobs: [Job?], _ moment: Moment
  ) throws(RunError) -> [RecordingID] {
    let result: Result<[RecordingID], RunError> = state.withLock { state in
      do throws(RunError) {
        guard !state.isClosed else { throw RunError(.usage, "the run has ended") }
        // Changed only if the whole entry is accepted.
        var next = state
        var ids: [RecordingID] = []
        var steps: [RequestPort.Step] = []
        for (request, job) in zip(requests, jobs) {
          let (id, step) = try next.note(request, job, moment)
          ids.append(id)
          steps.append(step)
        }
        guard port.add(RequestPort.Entry(steps: steps, moment: moment)) else {
          throw RunError(.failed, "too many requests wait; ask again in a moment")
        }
        state = next
        return .success(ids)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func giveBack(_ places: Int) {
    if places > 0 { state.withLock { $0.unfinished -= places } }
  }

  /// Whether a recording was asked for and has not ended, nor been asked to.
  func isUnderWay(_ id: RecordingID) -> Bool {
    state.withLock { state in
      !state.ending.contains(id)
        && state.outputs.values.contains { $0.underWay.contains { $0.id == id } }
    }
  }

  /// How many files have ended so far, and the records of those after the first `count`, as far as they are
  /// kept.
  func ended(after count: Int) -> (count: Int, records: [RecordingRecord]) {
    state.withLock { state in
      let new = min(state.endedCount - count, state.records.count)
      return (state.endedCount, Array(state.records.suffix(max(0, new))))
    }
  }

  /// Records of files that have ended, the oldest first, then of those under way.
  var records: [RecordingRecord] {
    state.withLock { state in
      let current = state.current.sorted { $0.key < $1.key }.map { sink, record in
        var record = record
        if let stamped = state.outputs[sink]?.stamped {
          record.counts[.delivered] = stamped.writtenFrames.load(ordering: .relaxed)
          record.byteCount = stamped.writtenBytes.load(ordering: .relaxed)
        }
        return record
      }
      let completing = state.completing.map { job in
        var record = job.record
        record.reason = nil
        return record
      }
      return state.records + completing + current
    }
  }
}

extension RecordingList.State {
  /// Checks a request against earlier ones, and notes it.
  fileprivate mutating func note(
    _ request: Request, _ job: RecordingList.Job?, _ moment: Moment
  ) throws(RunError) -> (RecordingID, RequestPort.Step) {
    switch (request, job) {
    case (.record(_, _, let frames), let job?):
      let id = job.record.id
      let other = outputs[job.sink]?.underWay.first {
        // What is to end at a known moment may have ended by then.
        !ending.contains($0.id) && (frames == nil || !$0.counts)
      }
      if let other, moment == .now {
        throw RunError(
          .usage, "\(job.record.sink) is recording already (recording \(other.id)); stop that first"
        )
      }
      if case .frame(let number) = moment { job.askedFrame = number }
      waiting.append(job)
      outputs[job.sink]?.underWay.append((id, frames != nil))
      return (id, .begin(id, sink: job.sink, frames: frames))
    case (.next(let id, _), let job?):
      guard outputs[job.sink]?.underWay.contains(where: { $0.id == id && !$0.counts }) == true
      else {
        throw RunError(
          .usage, "recording \(id) has ended, or counts its frames, which go into one file")
      }
      waiting.append(job)
      return (id, .next(id, sink: job.sink))
    case (.stop(let id), _):
      let found = outputs.first { $0.value.underWay.contains { $0.id == id } }
      guard let sink = found?.key else { throw RecordingList.hasEnded(id, self) }
      // One that is to end later goes on for now.
      if moment == .now { ending.insert(id) }
      return (id, .end(id, sink: sink))
    case (.record, nil), (.next, nil): preconditionFailure("a request without its file")
    }
  }
}
