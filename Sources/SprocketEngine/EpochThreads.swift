internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// The threads of one epoch: started together, drained and joined together.
///
/// Keeps R8 of the ring's contract: at the end lanes and sinks drain within a limit; what remains is
/// `flushed`. A second request to stop flushes at once.
final class EpochThreads {
  private(set) var workers: [(lane: Int, worker: LaneWorker)] = []
  private var threads: [EngineThread] = []
  private let epoch: Epoch

  /// After a flush, how long a thread may take to notice.
  static let graceNanoseconds: Int64 = 2_000_000_000

  init(_ epoch: Epoch, options: RunOptions, makeUnpacker: () -> any Unpacker) {
    self.epoch = epoch
    let firstPixels = epoch.plan.versions[0].parts.intersection(.pixels)
    for (index, lane) in epoch.plan.lanes.enumerated() {
      for number in 0..<lane.workers {
        var unpacker: (any Unpacker)?
        if lane.needsUnpacker(epoch.plan, epoch.stages) {
          unpacker = makeUnpacker()
          _ = unpacker?.configure(format: epoch.source.format, parts: firstPixels)
        }
        workers.append(
          (
            index,
            LaneWorker(
              epoch: epoch, laneIndex: index, workerIndex: number, wait: options.wait,
              unpacker: unpacker)
          ))
      }
    }
    for (lane, worker) in workers {
      let steps = epoch.plan.lanes[lane].steps.map { $0.name(epoch.stages) }
      threads.append(EngineThread(steps.joined(separator: "+")) { worker.run() })
    }
    for state in epoch.sinks {
      let worker = SinkWorker(epoch: epoch, state: state, wait: options.wait)
      threads.append(EngineThread(state.sink.name) { worker.run() })
    }
  }

  /// Waits for all threads to end, then flushes, then gives up on those that are stuck. `meanwhile`
  /// is called over and over; false when it had nothing to do.
  ///
  /// Offline nothing may be lost, so there is no limit until the run is to stop. Live it is `limit`
  /// without any progress, and `limit` in all once the run is to stop. Returns false when threads are
  /// stuck; they are named in the run's errors, and what they use must be left alone.
  func drain(limit: Int64, shared: RunShared, meanwhile: () -> Bool) -> Bool {
    var deadline = monotonicNow() + limit
    var done = progress(shared)
    var wasStopping = shared.isStopping
    while !isDone, monotonicNow() < deadline, !shared.isFlushing {
      if !meanwhile() { join(within: 2_000_000) }
      let now = progress(shared)
      let isStopping = shared.isStopping
      let gotOn = !isStopping && (now != done || !epoch.source.isLive)
      if gotOn || isStopping != wasStopping { deadline = monotonicNow() + limit }
      done = now
      wasStopping = isStopping
    }
    if !isDone {
      epoch.flushes.store(true, ordering: .releasing)
      wait(Self.graceNanoseconds)
      epoch.isAbandoned.store(true, ordering: .releasing)
      wait(Self.graceNanoseconds)
    }
    return joinAll(shared)
  }

  /// Waits for all threads to see what has changed, for so long at most.
  private func wait(_ nanoseconds: Int64) {
    epoch.ring.interrupt()
    let end = monotonicNow() + nanoseconds
    while !isDone, monotonicNow() < end { join(within: 2_000_000) }
  }

  private func joinAll(_ shared: RunShared) -> Bool {
    var isWhole = true
    for (index, thread) in threads.enumerated() where !thread.join(until: monotonicNow()) {
      isWhole = false
      if index >= workers.count { epoch.sinks[index - workers.count].isStuck = true }
      shared.fail(
        RunError(
          .failed, "the thread `\(thread.name)` did not come to an end; look at what it waits for"))
    }
    return isWhole
  }

  private var isDone: Bool { threads.allSatisfy(\.isDone) }

  /// Changes whenever a lane or a sink has got on.
  private func progress(_ shared: RunShared) -> UInt64 {
    let lanes = epoch.plan.lanes.indices.reduce(0) { $0 + epoch.ring.passed(.lane($1)) }
    return shared.counters.delivered.reduce(lanes) { $0 + $1.now }
  }

  /// Waits for one of the threads that still run.
  private func join(within nanoseconds: Int64) {
    _ = threads.first { !$0.isDone }?.join(until: monotonicNow() + nanoseconds)
  }
}
