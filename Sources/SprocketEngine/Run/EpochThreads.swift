internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// The threads of one epoch: started together, drained and joined together.
///
/// Keeps R8 of the ring's contract: at the end lanes and sinks drain within a limit; what remains is
/// `flushed`. A second request to stop flushes at once.
final class EpochThreads {
  private(set) var workers: [(lane: Int, worker: LaneWorker)] = []
  /// One per worker that could be started.
  private var threads: [EngineThread] = []
  /// Sinks whose thread has the epoch as its job.
  private var sinks: [SinkState] = []
  /// Sinks that still work on the epoch after the drain, by their numbers.
  private(set) var late: Set<Int> = []
  let epoch: Epoch
  private var hasLanes = false

  /// Nanoseconds that a thread may take to end after a flush. After that the run ends without it. Larger:
  /// slower disks are waited for, and a stuck run ends later.
  static let graceNanoseconds: Int64 = 2_000_000_000

  /// How long a drain waits, in nanoseconds.
  struct Patience {
    /// The drain ends after this time without any progress.
    var limit: Int64
    /// The drain ends after this time without any progress if all lanes have ended and no sink computes.
    var sinks: Int64
    /// The drain waits twice for this time after a flush if all lanes have ended.
    var grace: Int64

    init(limit: Int64) { (self.limit, sinks, grace) = (limit, limit, graceNanoseconds) }

    /// Waits less for sinks, because the other sinks of a live run lose frames during a change.
    init(changeWithin limit: Int64) {
      self.limit = limit
      sinks = min(limit, SinkWatch.stall)
      grace = 500_000_000
    }
  }

  init(_ epoch: Epoch) { self.epoch = epoch }

  /// Starts the threads of lanes, if `startLanes` did not, and gives the epoch to each sink's thread as its
  /// job. If this throws, the threads that were started end when the ring ends.
  func start(_ options: RunOptions, makeUnpacker: () -> any Unpacker) throws(RunError) {
    if !hasLanes { try makeLanes(options, makeUnpacker) }
    for place in epoch.sinks {
      let worker = SinkWorker(epoch: epoch, place: place, options: options)
      place.state.thread.perform { worker.run() }
      sinks.append(place.state)
    }
  }

  /// Starts one thread per worker of each lane. If this throws, none is left.
  func startLanes(_ options: RunOptions, makeUnpacker: () -> any Unpacker) throws(RunError) {
    do throws(RunError) {
      try makeLanes(options, makeUnpacker)
    } catch {
      abandon()
      throw error
    }
  }

  /// Ends the threads of lanes of an epoch that gets no frame.
  func abandon() {
    epoch.isAbandoned.store(true, ordering: .releasing)
    wait(Self.graceNanoseconds)
  }

  private func makeLanes(
    _ options: RunOptions, _ makeUnpacker: () -> any Unpacker
  ) throws(RunError) {
    hasLanes = true
    for (index, lane) in epoch.plan.lanes.enumerated() {
      for number in 0..<lane.workers {
        let unpacker = try unpacker(lane, makeUnpacker)
        let asked =
          lane.steps.contains(.unpackAsked)
          ? try configured(makeUnpacker, epoch.plan.askedParts) : nil
        let worker = try LaneWorker(
          epoch: epoch, laneIndex: index, workerIndex: number, wait: options.wait,
          unpacker: unpacker, askedUnpacker: asked)
        workers.append((index, worker))
      }
    }
    epoch.codes = workers.map(\.worker.code)
    for (lane, worker) in workers {
      let steps = epoch.plan.lanes[lane].steps.map { $0.name(epoch.stages) }
      threads.append(try EngineThread(steps.joined(separator: "+")) { worker.run() })
    }
  }

  private func unpacker(_ lane: ChainPlan.Lane, _ make: () -> any Unpacker) throws(RunError)
    -> (any Unpacker)?
  {
    guard lane.needsUnpacker(epoch.plan, epoch.stages) else { return nil }
    let parts = epoch.plan.versions[0].parts.intersection(.pixels)
    return try configured(make, parts.subtracting(epoch.plan.askedParts))
  }

  private func configured(_ make: () -> any Unpacker, _ parts: FrameParts) throws(RunError)
    -> any Unpacker
  {
    let unpacker = make()
    _ = try unpacker.configure(format: epoch.source.format, parts: parts)
    return unpacker
  }

  /// Waits for all threads to end, then flushes, then gives up on those that are stuck. `meanwhile`
  /// is called over and over.
  ///
  /// Offline nothing may be lost, so there is no limit until the run is to stop. Live it is that of
  /// `patience` without any progress, and `patience.limit` in all once the run is to stop. Returns false when
  /// lanes are stuck; they are named in the run's errors, and what they use must be left alone. `late` has
  /// the sinks that are stuck. It does not wait for those of `blocked`.
  func drain(
    _ patience: Patience, shared: RunShared, blocked: Set<Int>, meanwhile: () -> Void
  ) -> Bool {
    late = blocked
    var end = deadline(in: patience.limit)
    var watch = SinkWatch(patience.sinks, longest: patience.limit)
    var done = progress(shared)
    var wasStopping = shared.isStopping
    while !isDone, monotonicNow() < end, !shared.isFlushing {
      meanwhile()
      join(within: 2_000_000)
      let now = progress(shared)
      let isStopping = shared.isStopping
      let gotOn = !isStopping && (now != done || !epoch.source.isLive)
      if gotOn || isStopping != wasStopping { end = deadline(in: patience.limit) }
      if areLanesDone, !isStopping, epoch.source.isLive,
        !watch.isMoving(now, cpuTime: sinkCPUTime)
      {
        break
      }
      done = now
      wasStopping = isStopping
    }
    if !isDone {
      let grace = areLanesDone && !shared.isStopping ? patience.grace : Self.graceNanoseconds
      epoch.flushes.store(true, ordering: .releasing)
      // The others go on in the next epoch: they would not wait for anything there.
      for state in awaited where !state.thread.isIdle { state.sink.interrupt() }
      wait(grace)
      epoch.isAbandoned.store(true, ordering: .releasing)
      wait(grace)
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
    let stuck = zip(threads, workers).filter { !$0.0.join(until: monotonicNow()) }
    for (thread, made) in stuck { shared.tellStuck(thread: thread.name, made.worker.code) }
    late = Set(sinks.filter { !$0.thread.isIdle }.map(\.id))
    return stuck.isEmpty
  }

  /// CPU time that the workers' threads have used, in nanoseconds.
  var cpuTime: Int64 { threads.reduce(0) { $0.clampedSum($1.cpuTime) } }

  private var awaited: some Sequence<SinkState> { sinks.lazy.filter { !self.late.contains($0.id) } }

  private var areLanesDone: Bool { threads.allSatisfy(\.isDone) }
  private var isDone: Bool { areLanesDone && awaited.allSatisfy(\.thread.isIdle) }

  /// CPU time in nanoseconds of the sinks that the drain waits for.
  private var sinkCPUTime: Int64 { awaited.reduce(0) { $0.clampedSum($1.thread.cpuTime) } }

  /// Changes whenever a lane or a sink has got on.
  private func progress(_ shared: RunShared) -> UInt64 {
    let lanes = epoch.plan.lanes.indices.reduce(0) { $0 + epoch.ring.passed(.lane($1)) }
    return epoch.sinks.reduce(lanes) { $0 + $1.state.delivered.now }
  }

  /// Waits for one of the threads that still run.
  private func join(within nanoseconds: Int64) {
    let end = monotonicNow() + nanoseconds
    if let thread = threads.first(where: { !$0.isDone }) {
      _ = thread.join(until: end)
    } else {
      _ = awaited.first { !$0.thread.isIdle }?.thread.wait(until: end)
    }
  }
}
