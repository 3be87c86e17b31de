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
  let memory: FrameMemory
  let shared: RunShared
  let depthLines: [(holder: String, frames: Int)]
  /// Running number of the first frame of the epoch, and one past the last.
  let firstNumber: UInt64
  let endNumber = Atomic<UInt64>(0)
  /// The device's sequence number of the first frame.
  let firstSequence = Atomic<UInt64>(0)
  /// Nothing comes after this epoch: sinks finish.
  let isLast = Atomic<Bool>(false)

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
    self.memory = memory
    self.shared = shared
    self.depthLines = depthLines
    self.firstNumber = firstNumber
  }

  func sequence(of number: UInt64) -> UInt64 {
    firstSequence.load(ordering: .relaxed) + (number - firstNumber)
  }
}

/// What all epochs of a run share.
final class RunShared: Sendable {
  let tape = FateTape()
  let counters: LiveCounters
  /// 0 run, 1 stop and drain, 2 flush.
  let stopLevel = Atomic<Int>(0)
  let sinksAtWork: Atomic<Int>
  let errors = Mutex<[RunError]>([])

  init(sinks: Int) {
    counters = LiveCounters(sinks: sinks)
    sinksAtWork = Atomic(sinks)
  }

  var isStopping: Bool { stopLevel.load(ordering: .acquiring) >= 1 }
  var isFlushing: Bool { stopLevel.load(ordering: .acquiring) >= 2 }

  /// Raises the level; never lowers it.
  func raiseStop(to level: Int) { stopLevel.max(level, ordering: .releasing) }

  func fail(_ error: RunError) { errors.withLock { $0.append(error) } }
}

/// A sink in a run.
///
/// Unchecked: `sink`, `counts`, `latency` and `hasFailed` belong to the sink's thread while there is
/// one, and to the engine before and after.
final class SinkState: @unchecked Sendable {
  let index: Int
  let sink: any Sink
  var setup: SinkSetup?
  /// Offset of this sink's area in a slot's packed memory.
  var packedOffset = 0
  var counts = FateCounts()
  var latency = DurationHistogram()
  var hasFailed = false
  var hasFinished = false
  /// The next running number that has no fate yet.
  var nextNumber: UInt64 = 0

  init(index: Int, sink: any Sink) {
    self.index = index
    self.sink = sink
  }
}
