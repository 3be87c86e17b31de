internal import SprocketCore
internal import SprocketRing

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
        if epoch.plan.unpacks {
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
      threads.append(EngineThread("lane \(lane)") { worker.run() })
    }
    for state in epoch.sinks {
      let worker = SinkWorker(epoch: epoch, state: state, wait: options.wait)
      threads.append(EngineThread(state.sink.name) { worker.run() })
    }
  }

  /// Waits for all threads to end: for `limit` without any progress (once the run is to stop: for
  /// `limit` in all), then flushes, then gives up on those that are stuck. `meanwhile` is called over
  /// and over; false when it had nothing to do.
  ///
  /// Whatever happens, it returns; a stuck thread is named in the run's errors.
  func drain(limit: Int64, shared: RunShared, meanwhile: () -> Bool) {
    var deadline = monotonicNow() + limit
    var done = progress(shared)
    while !isDone, monotonicNow() < deadline, !shared.isFlushing {
      if !meanwhile() { join(within: 2_000_000) }
      let now = progress(shared)
      if now != done, !shared.isStopping { deadline = monotonicNow() + limit }
      done = now
    }
    if !isDone {
      shared.raiseStop(to: 2)
      epoch.ring.interrupt()
      let grace = monotonicNow() + Self.graceNanoseconds
      while !isDone, monotonicNow() < grace { join(within: 2_000_000) }
    }
    for thread in threads where !thread.join(until: monotonicNow()) {
      shared.fail(
        RunError(
          .failed, "the thread `\(thread.name)` did not come to an end; look at what it waits for"))
    }
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
