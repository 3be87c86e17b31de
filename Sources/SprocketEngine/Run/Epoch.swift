internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// What sinks are told of a chain. Constant.
struct ChainFacts {
  /// Frames at the chain's end.
  let format: FrameFormat
  let isUntouched: Bool
  let reports: [ReportLayout]
  let stageNames: [String]

  /// Of stages that are configured for `source`.
  init(_ stages: [ChainStage], _ source: SourceDescription) {
    format = stages.last?.declared.format ?? source.format
    isUntouched = !stages.contains { $0.declared.writing != nil }
    reports = stages.compactMap(\.reportLayout)
    stageNames = stages.map(\.name)
  }
}

/// State that the threads of an epoch share. It is fixed before they start, or atomic.
///
/// Unchecked: `plan`, `stages` and `sinks` are only read while threads run. The ring's contract says which
/// thread may use a slot's memory, and when.
final class Epoch: @unchecked Sendable {
  /// The number that frames' records have: it changes when frames differ from those before.
  let index: UInt32
  /// The number of the ring: it changes at each change, also of sinks alone.
  let generation: UInt32
  /// Whether it differs from the epoch before in its sinks alone: same `index`, no discontinuity.
  let isContinuous: Bool
  let source: SourceDescription
  /// That of the source, which frames that are lent refer to.
  let origin: FrameOrigin
  let plan: ChainPlan
  let stages: [ChainStage]
  let sinks: [SinkPlace]
  let ring: Ring
  let loanReaders: LoanReaders
  let memory: FrameMemory
  let shared: RunShared
  let depthLines: [(holder: String, frames: Int)]
  let reportBytes: Int
  /// What each worker of the lanes runs. Set before the source's thread works.
  var codes: [RunningCode] = []
  /// What sinks are told of the chain. Other threads may read this, and not what stages declare.
  let facts: ChainFacts
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
    _ request: EpochRequest, _ facts: ChainFacts, plan: ChainPlan, sinks: [SinkPlace], ring: Ring,
    memory: FrameMemory, shared: RunShared, depthLines: [(holder: String, frames: Int)]
  ) {
    index = request.index
    generation = request.generation
    isContinuous = request.isContinuous
    (source, origin) = (request.source, request.source.origin)
    self.plan = plan
    stages = request.stages
    self.sinks = sinks
    self.ring = ring
    loanReaders = LoanReaders(plan: plan, stages: stages, sinks: sinks)
    self.memory = memory
    self.shared = shared
    self.depthLines = depthLines
    firstNumber = request.firstNumber
    self.facts = facts
    reportBytes = request.reportBytes
  }

  /// An epoch in which `old` goes on, with its plan and memory. All threads of `old` have ended.
  init(resuming old: Epoch, generation: UInt32, sinks: [SinkPlace]) {
    index = old.index
    self.generation = generation
    isContinuous = true
    (source, origin) = (old.source, old.origin)
    plan = old.plan
    stages = old.stages
    self.sinks = sinks
    ring = Engine.makeRing(old.ring.plan)
    loanReaders = old.loanReaders
    memory = old.memory
    shared = old.shared
    depthLines = old.depthLines
    facts = old.facts
    firstNumber = old.firstNumber
    reportBytes = old.reportBytes
  }

  /// Its sinks but those that have left the run.
  func sinks(without behind: [SinkState]) -> [SinkPlace] {
    sinks.filter { place in !behind.contains { $0 === place.state } }
  }

  var isFlushing: Bool { flushes.load(ordering: .acquiring) || shared.isFlushing }

  func sequence(of number: UInt64) -> UInt64 {
    firstSequence.load(ordering: .relaxed) &+ (number &- firstNumber)
  }
}
