internal import SprocketCore
internal import Synchronization

/// What the threads of sinks, of the finisher and of the run do with recordings.
extension RecordingList {
  // MARK: For a sink's thread

  /// The first file of a recording, or a further one (`isPart`), if it was asked for.
  func takeFile(_ id: RecordingID, isPart: Bool) -> Job? {
    state.withLock { state in
      state.waiting.firstIndex { $0.record.id == id && $0.isPart == isPart }.map {
        state.waiting.remove(at: $0)
      }
    }
  }

  /// Files of recordings that were asked for at a frame before `number`, and have not begun.
  func takeWaiting(sink: Int, before number: UInt64) -> [Job] {
    state.withLock { state in
      let found = state.waiting.filter { $0.sink == sink && $0.askedFrame ?? .max < number }
      state.waiting.removeAll { job in found.contains { $0 === job } }
      return found
    }
  }

  /// A file for a recording that goes on without having been asked to; `nil` if there is no place. Throws
  /// if the file cannot be made.
  func makeFile(after job: Job) throws(RunError) -> Job? {
    try makeFile(
      job.record.id, sink: job.sink, path: nil, frames: job.frames.map { $0 - job.written })
  }

  func noteBegin(_ job: Job) {
    state.withLock { state in
      state.current[job.sink] = job.record
      let place = state.outputs[job.sink]?.underWay.firstIndex { $0.id == job.record.id }
      if let place { state.outputs[job.sink]?.underWay[place].isLater = false }
    }
  }

  /// The recording takes no more frames: the next one may be asked for. Returns files that it has no use for.
  func noteEnd(_ id: RecordingID, sink: Int, _ reason: RecordingEnd) -> [Job] {
    state.withLock { state in
      if state.reasons.count == Self.kept { state.reasons.removeFirst() }
      state.reasons.append((id, reason))
      state.outputs[sink]?.underWay.removeAll { $0.id == id }
      state.ending.remove(id)
      if state.current[sink]?.id == id { state.current[sink] = nil }
      defer { state.waiting.removeAll { $0.record.id == id } }
      return state.waiting.filter { $0.record.id == id }
    }
  }

  /// The sink has no use for this file any more; the finisher gets it.
  func noteCompleting(_ job: Job) { state.withLock { $0.completing.append(job) } }

  // MARK: For the finisher, and the end

  /// Stores the record of a file and gives its place back; once, if the engine did not wait for the file.
  /// `lost`: frames that were written and are not in it.
  func store(_ job: Job, _ record: RecordingRecord, lost: UInt64) {
    let sink = job.sink
    state.withLock { state in
      guard !job.isAnswered else { return }
      job.isAnswered = true
      state.completing.removeAll { $0 === job }
      state.unfinished -= 1
      state.lost[sink, default: 0] += lost
      if state.records.count == Self.kept { state.records.removeFirst() }
      state.records.append(record)
      state.endedCount += 1
    }
  }

  /// The finisher did not come to the end of this file.
  func leave(_ job: Job) {
    var record = job.record
    record.reason = .error
    record.error = "the file could not be completed in time"
    record.isUsable = job.durable > 0
    record.lose(job.written - job.durable)
    store(job, record, lost: job.written - job.durable)
  }

  /// The sink's thread did not end, so the file that it writes has no other end.
  func leaveCurrent(sink: Int) {
    state.withLock { state in
      guard var record = state.current.removeValue(forKey: sink) else { return }
      record.reason = .error
      record.error = "the sink did not come to an end"
      state.records.append(record)
      state.endedCount += 1
    }
  }

  func lost(sink: Int) -> UInt64 { state.withLock { $0.lost[sink] ?? 0 } }

  /// From now on nothing can be asked. Returns the files that were asked for and have not begun.
  func close() -> [Job] {
    let left = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return state.waiting
    }
    port.close()
    return left
  }
}

extension RecordingRecord {
  /// Frames that were written are not in the file.
  mutating func lose(_ frames: UInt64) {
    counts[.delivered] -= frames
    counts[.failed] += frames
  }
}
