internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// All that one epoch's threads share. Everything here is fixed before they start, or atomic.
///
/// Unchecked: `plan`, `stages` and `sinks` are read only while threads run; what a slot's memory
/// may be used for, and when, is the ring's contract.
final class Epoch: @unchecked Sendable {
  let index: UInt32
  let source: SourceDescription
  let plan: ChainPlan
  let stages: [ChainStage]
  let sinks: [SinkState]
  let ring: Ring
  let loanReaders: LoanReaders
  let memory: FrameMemory
  let shared: RunShared
  let depthLines: [(holder: String, frames: Int)]
  /// Of the stages that declared a report.
  let reports: [ReportLayout]
  /// Running number of the first frame of the epoch, and one past the last.
  let firstNumber: UInt64
  let endNumber = Atomic<UInt64>(0)
  /// The device's sequence number of the first frame.
  let firstSequence = Atomic<UInt64>(0)
  /// Nothing comes after this epoch: sinks finish.
  let isLast = Atomic<Bool>(false)
  /// What has not been taken by now is `flushed`, in this epoch alone.
  let flushes = Atomic<Bool>(false)
  /// A lane is stuck, and no thread waits for it any more.
  let isAbandoned = Atomic<Bool>(false)

  init(
    index: UInt32, source: SourceDescription, plan: ChainPlan, stages: [ChainStage],
    sinks: [SinkState], ring: Ring, memory: FrameMemory, shared: RunShared,
    depthLines: [(holder: String, frames: Int)], firstNumber: UInt64
  ) {
    self.index = index
    self.source = source
    self.plan = plan
    self.stages = stages
    self.sinks = sinks
    self.ring = ring
    loanReaders = LoanReaders(plan: plan, stages: stages, sinks: sinks)
    self.memory = memory
    self.shared = shared
    self.depthLines = depthLines
    reports = stages.compactMap(\.reportLayout)
    self.firstNumber = firstNumber
  }

  var isFlushing: Bool { flushes.load(ordering: .acquiring) || shared.isFlushing }

  func sequence(of number: UInt64) -> UInt64 {
    firstSequence.load(ordering: .relaxed) &+ (number &- firstNumber)
  }
}

/// What all epochs of a run share.
final class RunShared: Sendable {
  let tape = FateTape()
  let events = EventLog()
  let counters: LiveCounters
  /// 0 run, 1 stop and drain, 2 flush.
  let stopLevel = Atomic<Int>(0)
  /// Number of running sinks with `lasts`.
  private let lastingSinks: Atomic<Int>
  let errors = Mutex<[RunError]>([])
  /// What happened that is no error, such as a reader that went away.
  let notes = Mutex<[String]>([])
  /// What the user should know while the run goes on.
  let notice = Mutex<String?>(nil)
  /// `nil` where nothing is traced.
  let trace: Trace?

  init(sinks: [any Sink], traceLimit: Int?) {
    trace = traceLimit.map { Trace(limit: $0) }
    counters = LiveCounters(sinks: sinks.count)
    lastingSinks = Atomic(sinks.count(where: \.lasts))
  }

  var isStopping: Bool { stopLevel.load(ordering: .acquiring) >= 1 }
  var isFlushing: Bool { stopLevel.load(ordering: .acquiring) >= 2 }

  /// Raises the level; never lowers it.
  func raiseStop(to level: Int) { stopLevel.max(level, ordering: .releasing) }

  /// Called when a sink has ended early. Ends the run if this was the last sink with `lasts`.
  func lose(_ sink: any Sink) {
    guard sink.lasts else { return }
    if lastingSinks.wrappingSubtract(1, ordering: .relaxed).newValue == 0 { raiseStop(to: 1) }
  }

  /// Adds an error, unless an equal one is there: two sinks that write one file fail with the same
  /// text.
  func fail(_ error: RunError) {
    errors.withLock { errors in
      if errors.contains(where: { $0.description == error.description }) { return }
      errors.append(error)
    }
  }
}

/// A sink in a run.
///
/// Unchecked: `sink`, `counts`, `latency`, `events` and `hasFailed` belong to the sink's thread while that
/// has a job, and to the engine before and after.
final class SinkState: @unchecked Sendable {
  let index: Int
  let sink: any Sink
  /// Takes its frames, finishes and seals it: from before the run's start to its end.
  let thread: JobThread
  var setup: SinkSetup?
  /// Offset of this sink's area in a slot's packed memory.
  var packedOffset = 0
  var counts = FateCounts()
  var latency = DurationHistogram()
  var events = EventReader()
  /// What becomes of frames after the sink has failed; `nil` while it works.
  var lossAfterFailure: Fate?
  var hasFailed: Bool { lossAfterFailure != nil }
  var tapsSource: Bool { setup?.tapsSource ?? false }
  /// The sink buffers, so frames that it has taken may still be lost. `durableCount` tells how many
  /// cannot.
  let buffers: Bool
  var hasFinished = false
  /// Its thread did not end and still owns `counts`, which must not be read.
  var isStuck = false
  /// `counts` before `seal`, used if `seal` does not return.
  var sealedCounts: FateCounts?
  /// The lane whose cursor it follows and whose record it reads: 0 is the source's.
  var tap = 0
  /// The next running number that has no fate yet.
  var nextNumber: UInt64 = 0

  init(index: Int, sink: any Sink) throws(RunError) {
    self.index = index
    self.sink = sink
    buffers = sink.durableCount != .max
    thread = try JobThread(sink.name)
  }

  var traceName: String { "sink \(sink.name)" }

  /// It has packers for the lanes to use.
  var packs: Bool { (setup?.packedCapacity ?? 0) > 0 }

  /// Ends a sink after its error, once. Of the frames that it took, the first `durableCount` stay
  /// `delivered`, and the others become `failed`, or `flushed` if the reader of a pipe left. The run goes on
  /// while another sink that lasts works.
  func fail(_ error: RunError, _ shared: RunShared, isFinishing: Bool = false) {
    guard !hasFailed else { return }
    let loss: Fate = error.code == .readerGone ? .flushed : .failed
    lossAfterFailure = loss
    // `.max` means that the sink does not buffer. If it cannot be finished or sealed, no frame is
    // certain to be stored.
    let count = sink.durableCount
    let durable = isFinishing && count == .max ? 0 : min(count, counts[.delivered])
    counts[loss] += counts[.delivered] - durable
    counts[.delivered] = durable
    shared.counters.delivered[index].set(durable)
    if error.code == .readerGone {
      shared.notes.withLock { $0.append(error.description) }
    } else {
      shared.fail(error)
    }
    shared.lose(sink)
  }
}
