internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// State that the threads of an epoch share. It is fixed before they start, or atomic.
///
/// Unchecked: `plan`, `stages` and `sinks` are only read while threads run. The ring's contract says which
/// thread may use a slot's memory, and when.
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
  /// Reports of the stages that declared one.
  let reports: [ReportLayout]
  /// Running number of the first frame of the epoch, and one past the last.
  let firstNumber: UInt64
  let endNumber = Atomic<UInt64>(0)
  /// The device's sequence number of the first frame.
  let firstSequence = Atomic<UInt64>(0)
  /// This is the last epoch: sinks finish after it.
  let isLast = Atomic<Bool>(false)
  /// Frames of this epoch that were not taken yet become `flushed`.
  let flushes = Atomic<Bool>(false)
  /// A lane is stuck. Other threads no longer wait for it.
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
