internal import SprocketCore

/// A thread that completes files: writes their index, syncs, renames.
///
/// Keeps of the contract of requests:
/// - A11: completing a file does not delay the frames of the next one. The queue holds at most
///   `RecordingBook.capacity` files. At the run's end the finisher has a limited time; files that still wait
///   then keep their partial names. A file that is being completed then may still get its name, but its
///   frames count as lost.
final class Finisher: Sendable {
  private struct State {
    var jobs: [RecordingList.Job] = []
    var isWorking = false
    /// The time limit at the run's end is over: files that wait keep their partial names.
    var isClosed = false
  }

  private let state = Locked(State())
  private let thread: JobThread
  private let list: RecordingList
  private let shared: RunShared
  /// Changes when a file is complete.
  private let done = FutexWord()

  init(_ list: RecordingList, _ shared: RunShared) throws(RunError) {
    self.list = list
    self.shared = shared
    thread = try JobThread("finisher")
  }

  /// Adds a file to the queue, from any thread. May wait until the finisher's thread has left its latest
  /// call.
  func add(_ job: RecordingList.Job) {
    list.noteCompleting(job)
    let starts = state.withLock { state in
      state.jobs.append(job)
      defer { state.isWorking = true }
      return !state.isWorking
    }
    guard starts else { return }
    // The thread may still be leaving its latest call.
    while !thread.wait(until: .max) {}
    thread.perform { self.work() }
  }

  private func work() {
    while let job = state.withLock({ state in
      state.isWorking = !state.jobs.isEmpty && !state.isClosed
      return state.isClosed ? nil : state.jobs.first
    }) {
      finish(job)
      state.withLock { _ = $0.jobs.removeFirst() }
      done.advance()
    }
  }

  private func finish(_ job: RecordingList.Job) {
    var record = job.record
    if job.written == 0 {
      job.file.abandon()
    } else if !job.hasFailed {
      do throws(RunError) {
        try RunningCode(["finisher"], of: shared.label).during { () throws(RunError) in
          try job.file.finish()
        }
      } catch {
        record.reason = .error
        record.error = error.description
        shared.fail(RunError(error, of: record.sink))
      }
    }
    let durable = min(job.file.durableCount, job.written)
    let lost = job.written - durable
    record.lose(lost)
    record.isUsable = durable > 0
    record.path = job.file.path
    record.byteCount = job.file.byteCount
    record.deleted = job.file.deletedFiles
    if let error = job.file.deletionError { shared.fail(error) }
    list.store(job, record, lost: job.countsFrames ? lost : 0)
  }

  /// Waits until all files are complete. Gives up when no file was completed for `limit`; once the run is
  /// flushed, after a grace time. Returns the files that are left, which the thread may still use.
  func drain(limit: Int64) -> [RecordingList.Job] {
    var end = deadline(in: limit)
    var isHurried = false
    while true {
      let seen = done.value
      if state.withLock({ $0.jobs.isEmpty }) { return [] }
      let now = monotonicNow()
      if shared.isFlushing, !isHurried {
        isHurried = true
        end = min(end, now + EpochThreads.graceNanoseconds)
      }
      guard now < end else {
        return state.withLock { state in
          state.isClosed = true
          return state.jobs
        }
      }
      if done.wait(while: seen, until: min(end, now + Waiter.boundNanoseconds)), !isHurried {
        end = deadline(in: limit)
      }
    }
  }
}
