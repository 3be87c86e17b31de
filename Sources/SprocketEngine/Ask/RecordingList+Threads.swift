internal import SprocketCore
internal import Synchronization

// Changes by the threads of sinks, of the finisher and of the run.
extension RecordingList {
  // MARK: For a sink's thread

  /// Takes the first file of a recording that begins; `nil` if the recording has ended before.
  func takeFirst(_ id: RecordingID) -> Job? {
    state.withLock { state in
      state.book.begin(id).flatMap { state.jobs.removeValue(forKey: $0) }
    }
  }

  /// Takes a further file, in which its recording goes on; `nil` if the recording has ended before.
  func takeNext(_ file: FileID) -> Job? {
    state.withLock { state in
      state.book.goOn(in: file) ? state.jobs.removeValue(forKey: file) : nil
    }
  }

  /// Takes the first files of recordings that were asked for at a frame before `number`, and have not begun.
  /// `chosen`: of those whose frame is chosen by its time, else of the others.
  func takeWaiting(sink: Int, before number: UInt64, chosen: Bool) -> [Job] {
    state.withLock { state in
      let asked = state.jobs.values.filter { job in
        job.sink == sink && !job.order.part.isFurther && job.askedFrame ?? .max < number
          && (job.choice != nil) == chosen
      }
      return asked.sorted { $0.order.part.file.number < $1.order.part.file.number }
        .compactMap { job in
          guard let file = state.book.begin(job.record.id) else { return nil }
          for ticket in state.tickets where ticket.files.contains(file) {
            _ = ticket.exchange(for: .takesEffect)
          }
          return state.jobs.removeValue(forKey: file)
        }
    }
  }

  /// Makes the next file of a recording that reached a limit of its file. Returns `nil` if there is no
  /// place; throws if the file cannot be made.
  func makeFile(after job: Job) throws(RunError) -> Job? {
    // A sink that is being detached begins no further file.
    do throws(RunError) {
      let next = try makeFile(
        job.record.id, sink: job.sink, frames: job.frames.map { $0 - job.written })
      next?.earlierFrames = job.earlierFrames + job.written
      if let next { state.withLock { $0.book.goOn(in: next.order) } }
      return next
    } catch {
      guard state.withLock({ $0.outputs[job.sink] != nil }) else { return nil }
      throw error
    }
  }

  /// `isBeside`: another recording of the sink may be under way, and remains its current one.
  func noteBegin(_ job: Job, isBeside: Bool = false) {
    guard job.isTold else { return }
    state.withLock { state in
      if !isBeside { state.current[job.sink] = job.record }
      state.tell(.started(job.record))
    }
  }

  func notePause(_ job: Job) {
    guard job.isTold else { return }
    state.withLock { state in
      if state.current[job.sink]?.id == job.record.id {
        state.current[job.sink]?.isPaused = job.isPaused
      }
      state.tell(job.isPaused ? .paused(job.record) : .resumed(job.record))
    }
  }

  /// Ends a recording in the list: from now on the next one may be asked for. Returns files that were asked
  /// for this recording and are not needed any more.
  func noteEnd(_ id: RecordingID, sink: Int, _ reason: RecordingEnd) -> [Job] {
    state.withLock { state in
      if state.current[sink]?.id == id { state.current[sink] = nil }
      return state.take(state.book.end(id, reason))
    }
  }

  /// The sink has written all frames of this file; the finisher completes it.
  func noteCompleting(_ job: Job) { state.withLock { $0.completing.append(job) } }

  // MARK: For the finisher, and the end

  /// Stores the record of a file and gives its place back. A second call, after the engine has stopped
  /// waiting for the file, does nothing. `lost` is the number of frames that were written and are not in
  /// the file.
  func store(_ job: Job, _ record: RecordingRecord, lost: UInt64) {
    let sink = job.sink
    state.withLock { state in
      guard !job.isAnswered else { return }
      job.isAnswered = true
      state.completing.removeAll { $0 === job }
      state.book.giveBack(job.order.owner)
      state.lost[sink, default: 0] += lost
      if job.isTold { state.add(record) }
    }
  }

  /// Stores the record of a file that the finisher did not complete in time.
  func leave(_ job: Job) {
    var record = job.record
    record.reason = .error
    record.error = "the file could not be completed in time"
    record.isUsable = job.durable > 0
    record.lose(job.written - job.durable)
    store(job, record, lost: job.countsFrames ? job.written - job.durable : 0)
  }

  /// Stores the record of the file that a sink was writing when its thread did not end.
  func leaveCurrent(sink: Int) {
    state.withLock { state in
      guard var record = state.current.removeValue(forKey: sink) else { return }
      record.reason = .error
      record.error = "the sink did not come to an end"
      state.add(record)
    }
  }

  // MARK: Sinks that come and go

  /// Accepts requests to an on-demand sink from now on; does nothing for another one.
  func attach(_ sink: SinkState) {
    guard let recorder = sink.recorder, let stamped = sink.stamped else { return }
    let output = Output(
      recorder: UncheckedRecorder(recorder: recorder), stamped: stamped)
    state.withLock { state in
      state.outputs[sink.id] = output
      state.book.attach(sink.id, name: sink.sink.name)
    }
  }

  /// Refuses requests to a sink from now on. Returns the files that were asked for and have not begun. The
  /// sink's thread ends what is under way.
  func detach(sink: Int) -> [Job] {
    state.withLock { state in
      state.outputs[sink] = nil
      return state.take(state.book.detach(sink))
    }
  }

  /// Whether a sink has files that are not complete.
  func isBusy(sink: Int) -> Bool {
    state.withLock { $0.book.places.keys.contains { $0.sink == sink } }
  }

  var busySinks: Set<String> { state.withLock { Set($0.book.places.keys.map(\.name)) } }

  /// Number of frames that were lost with the sink's files since the last call.
  func takeLost(sink: Int) -> UInt64 { state.withLock { $0.lost.removeValue(forKey: sink) ?? 0 } }

  /// Refuses all later requests. Returns the files that were asked for and have not begun, and the number of
  /// recordings among them that a client asked for at a later frame.
  func close() -> (left: [Job], untold: Int) {
    let found = state.withLock { state in
      let clients = state.tickets.filter {
        $0.waits && $0.isLater && $0.holder.most != nil && !$0.holder.isFollowed
      }
      let files = Set(clients.flatMap(\.files))
      for ticket in state.tickets { _ = ticket.exchange(for: .isUnmade) }
      state.tickets = []
      let left = state.take(state.book.close())
      let untold = left.count {
        !$0.order.part.isFurther && files.contains($0.order.part.file)
      }
      return (left, untold)
    }
    port.close()
    return found
  }
}

extension RecordingList.State {
  /// Stores the record of a file that has ended.
  fileprivate mutating func add(_ record: RecordingRecord) {
    if records.count == RecordingList.kept { records.removeFirst() }
    records.append(record)
    endedCount += 1
    tell(.ended(record))
  }
}

extension RecordingRecord {
  /// Counts frames that were written as failed: they are not in the file.
  mutating func lose(_ frames: UInt64) {
    counts[.delivered] -= frames
    counts[.failed] += frames
  }
}
