internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// One thread of a lane: takes frames, runs the lane's steps on them, lets them pass.
///
/// Keeps of the ring's contract:
/// - R4: other frames are seen as the lane before sealed them, record and pixels: a lane works on its
///   own copy of the record, and dropped or damaged frames are nobody's neighbours.
/// - R8: once the run is to end at once, frames pass untouched.
/// - R10: a worker that drops a frame marks its fate on the tape before the lane's cursor passes the frame.
/// - A15 of the contract of requests: a frame's live settings are those of its slot, so they depend on its
///   number alone. An instance gets them before its next frame, whatever became of the frames before.
/// - e1: a stage of the order `.sequence` receives events with each frame that it gets (see `EventReader`).
///
/// Unchecked: used by its thread alone between start and join; its histograms are read after that.
@safe
final class LaneWorker: @unchecked Sendable {
  let epoch: Epoch
  private let laneIndex: Int
  private let workerIndex: Int
  private let lane: ChainPlan.Lane
  private let isLastLane: Bool
  /// The record that it starts from.
  private let upstream: RecordIndex
  private let lastStageStep: Int?
  private let wait: WaitStrategy
  /// By step; `nil` for a step that is not a stage.
  private let stages: [(stage: ChainStage, instance: StageInstance, access: FrameAccess)?]
  let unpacker: (any Unpacker)?
  /// Unpacker of the step `unpackAsked`, and the sinks that read what it unpacks.
  private let askedUnpacker: (any Unpacker)?
  private let askedSinks: [Int]
  private let selectors: [(sink: Int, selector: any FrameSelector)]
  private let packers: [(sink: SinkPlace, packer: any Packer)]
  private let neighbours: UnsafeMutablePointer<UnsafeMutablePointer<FrameStorage>>
  /// Which step runs on which frame.
  let code: RunningCode
  private(set) var meter: StepMeter
  /// By step, frames dropped there.
  private(set) var late: [UInt64]
  private(set) var rejected: [UInt64]

  init(
    epoch: Epoch, laneIndex: Int, workerIndex: Int, wait: WaitStrategy,
    unpacker: (any Unpacker)?, askedUnpacker: (any Unpacker)?
  ) throws(RunError) {
    self.epoch = epoch
    self.laneIndex = laneIndex
    self.workerIndex = workerIndex
    self.wait = wait
    self.unpacker = unpacker
    self.askedUnpacker = askedUnpacker
    let asked = epoch.plan.askedParts
    askedSinks = epoch.sinks.filter { sink in
      sink.isOnDemand && !(sink.setup?.parts.isDisjoint(with: asked) ?? true)
    }.map(\.index)
    let lane = epoch.plan.lanes[laneIndex]
    self.lane = lane
    isLastLane = epoch.plan.isChainEnd(laneIndex)
    upstream = epoch.plan.upstream(ofLane: laneIndex)
    let isLastWithStage = !epoch.plan.lanes[(laneIndex + 1)...].contains { later in
      later.steps.contains { $0.isProcessing }
    }
    lastStageStep = isLastWithStage ? lane.steps.lastIndex { $0.isProcessing } : nil
    stages = lane.steps.map { step in
      guard let index = step.stageIndex else { return nil }
      let stage = epoch.stages[index]
      let instance = stage.instances[min(workerIndex, stage.instances.count - 1)]
      let access = epoch.plan.access(stage: index, lane: laneIndex, epoch.stages)
      return (stage, instance, access)
    }
    let selects = lane.steps.contains(.select)
    selectors =
      selects
      ? epoch.sinks.compactMap { sink in
        guard sink.hasSelector, !sink.tapsSource else { return nil }
        return sink.sink.makeSelector().map { (sink.index, $0) }
      } : []
    let packs = lane.followsSource || lane.steps.contains(.pack)
    var packers: [(sink: SinkPlace, packer: any Packer)] = []
    for sink in epoch.sinks where packs && sink.packs {
      guard sink.tapsSource == lane.followsSource else { continue }
      if let packer = try sink.sink.makePacker() { packers.append((sink, packer)) }
    }
    self.packers = packers
    unsafe neighbours = .allocate(capacity: max(1, lane.history + lane.lookahead))
    code = RunningCode(
      lane.steps.map {
        ($0.stageIndex == nil ? "step `" : "stage `") + $0.name(epoch.stages) + "`"
      },
      of: epoch.shared.label)
    meter = StepMeter(
      lane.steps.map { $0.name(epoch.stages) },
      thread: lane.threadName(worker: workerIndex, epoch.stages), epoch.shared)
    late = lane.steps.map { _ in 0 }
    rejected = late
  }

  deinit { unsafe neighbours.deallocate() }

  func run() {
    meter.thread?.begin()
    defer { meter.thread?.end() }
    code.during {
      var worker = epoch.ring.makeWorker(lane: laneIndex)
      var waiter = Waiter(wait)
      while true {
        switch worker.next() {
        case .frame(let sequence, let slot):
          waiter.reset()
          unsafe process(epoch.memory.slots + slot, sequence: sequence)
          code.rest()
          worker.finish()
        case .wait:
          if epoch.isAbandoned.load(ordering: .acquiring) { return }
          if !waiter.spinsOn() { waiter.park(worker.prepareToWait()) }
        case .end:
          return
        }
      }
    }
  }

  private func process(_ slot: UnsafeMutablePointer<FrameStorage>, sequence: UInt64) {
    let records = unsafe slot.pointee.records
    unsafe records[.lane(laneIndex)] = records[upstream]
    // Sinks that tap the source also take damaged frames.
    let isWanted = unsafe lane.followsSource || records[upstream].isAlive
    guard isWanted, !epoch.isFlushing else { return }
    let isSampled = meter.samples(sequence)
    var used = isSampled ? threadCPUTime() : 0
    var time = monotonicNow()
    meter.recordWait(since: unsafe records[upstream].sealed, until: time)
    for (index, step) in lane.steps.enumerated() {
      let isKept = unsafe perform(step, index, slot, sequence: sequence, time: time)
      let done = monotonicNow()
      let number = unsafe records[.lane(laneIndex)].number
      let fate = unsafe records[.lane(laneIndex)].chainFate
      meter.record(index, frame: number, from: time, to: done, fate: isKept ? nil : fate)
      time = done
      if isSampled { used = meter.sample(index, since: used) }
      if !isKept { return }
      if index == lastStageStep { unsafe records[.lane(laneIndex)].processed = time }
      if step == .unpack { unsafe records[.lane(laneIndex)].unpacked = time }
    }
    unsafe records[.lane(laneIndex)].sealed = time
    if isLastLane { unsafe finishChain(slot, time: time) }
  }

  /// False when the frame is dropped here.
  private func perform(
    _ step: ChainPlan.Step, _ index: Int, _ slot: UnsafeMutablePointer<FrameStorage>,
    sequence: UInt64, time: Int64
  ) -> Bool {
    code.enter(index, frame: unsafe slot.pointee.records[.lane(laneIndex)].number)
    switch step {
    case .stage(let stage):
      return unsafe runStage(stage, index, slot, sequence: sequence, time: time)
    case .unpack:
      guard let unpacker, unsafe !unpacker.unpack(slot) else { return true }
      unsafe drop(slot, .corrupt)
      return false
    case .unpackAsked:
      unsafe unpackAsked(slot)
      return true
    case .select:
      let view = unsafe sinkView(slot, time: time)
      for (sink, selector) in selectors where unsafe slot.pointee.packedCounts[sink] >= 0 {
        if !selector.selects(view) {
          unsafe slot.pointee.packedCounts[sink] = SinkWorker.unselected
        }
      }
      return true
    case .pack, .packSource:
      let view = unsafe sinkView(slot, time: time)
      for (sink, packer) in packers {
        guard unsafe slot.pointee.packedCounts[sink.index] >= 0 else { continue }
        let start = unsafe slot.pointee.packed + sink.packedOffset
        var bytes = unsafe MutableSpan<UInt8>(
          _unsafeStart: start.assumingMemoryBound(to: UInt8.self),
          count: sink.setup?.packedCapacity ?? 0)
        let count = packer.pack(view, into: &bytes)
        unsafe slot.pointee.packedCounts[sink.index] = count ?? SinkWorker.unpackable
      }
      return true
    }
  }

  /// Unpacks the parts that only on-demand sinks read. If they are damaged, the frame is lost for these
  /// sinks alone.
  private func unpackAsked(_ slot: UnsafeMutablePointer<FrameStorage>) {
    var isWanted = false
    for sink in askedSinks where unsafe slot.pointee.packedCounts[sink] >= 0 { isWanted = true }
    guard isWanted, let askedUnpacker, unsafe !askedUnpacker.unpack(slot) else { return }
    for sink in askedSinks where unsafe slot.pointee.packedCounts[sink] >= 0 {
      unsafe slot.pointee.packedCounts[sink] = SinkWorker.damaged
    }
  }

  private func runStage(
    _ stageIndex: Int, _ index: Int, _ slot: UnsafeMutablePointer<FrameStorage>, sequence: UInt64,
    time: Int64
  ) -> Bool {
    guard let (stage, instance, access) = stages[index] else { return true }
    if stage.declared.usesRemaining {
      unsafe slot.pointee.entered[stageIndex] = time
    }
    if let written = access.written { unsafe prepareVersion(written, slot) }
    if let settings = unsafe slot.pointee.settings {
      unsafe settings._withUnsafeGuaranteedRef { settings in
        if instance.store(settings, stage: stageIndex) { instance.stage.retune() }
      }
    }
    let around = unsafe stage.declared.looksAround ? look(around: sequence, stage) : .none
    var view = unsafe FrameView(
      unsafeStorage: slot, access: access, now: time, neighbours: around,
      events: receiveEvents(
        instance, unsafe slot.pointee.records[.lane(laneIndex)].eventEnd))
    switch instance.stage.process(&view) {
    case .keep:
      if let written = access.written { unsafe deriveLuma(written, slot) }
      return true
    case .drop(let reason):
      unsafe slot.pointee.records[.lane(laneIndex)].droppedBy = UInt8(
        truncatingIfNeeded: stageIndex)
      switch reason {
      case .late:
        late[index] += 1
        unsafe drop(slot, .late)
      case .rejected:
        rejected[index] += 1
        unsafe drop(slot, .rejected)
      }
      return false
    }
  }

  /// Events since the previous frame that the stage received.
  private func receiveEvents(_ instance: StageInstance, _ end: UInt64) -> [Event]? {
    let missed = instance.events?.receive(epoch.shared.events, below: end) ?? 0
    if missed > 0 { epoch.shared.counters.droppedEvents.add(missed) }
    return instance.events?.received
  }

  /// The intact frames around `sequence`, as the lane before sealed them, nearest first.
  private func look(around sequence: UInt64, _ stage: ChainStage) -> Neighbours {
    var earlier = 0
    for distance in 0..<UInt64(stage.declared.history) where sequence > distance {
      if addNeighbour(sequence - distance - 1, at: earlier) { earlier += 1 }
    }
    var later = 0
    let passed = epoch.ring.passed(.record(upstream))
    for distance in 0..<UInt64(stage.declared.lookahead) where sequence + distance + 1 < passed {
      if addNeighbour(sequence + distance + 1, at: earlier + later) { later += 1 }
    }
    return unsafe Neighbours(frames: neighbours, earlier: earlier, later: later)
  }

  private func addNeighbour(_ sequence: UInt64, at index: Int) -> Bool {
    let slot = unsafe epoch.memory.slots + epoch.ring.slot(at: sequence)
    guard unsafe slot.pointee.records[upstream].isAlive else { return false }
    unsafe neighbours[index] = unsafe slot
    return true
  }

  private func drop(_ slot: UnsafeMutablePointer<FrameStorage>, _ fate: Fate) {
    unsafe slot.pointee.records[.lane(laneIndex)].chainFate = fate
    let number = unsafe slot.pointee.records[.lane(laneIndex)].number
    epoch.shared.mark(number, TapeEntry(fate))
  }

  private func sinkView(_ slot: UnsafeMutablePointer<FrameStorage>, time: Int64) -> FrameView {
    var access = epoch.plan.sinkAccess
    access.lane = .lane(laneIndex)
    access.origin = epoch.origin
    return unsafe FrameView(
      unsafeStorage: slot, access: access, now: time, neighbours: .none,
      reports: epoch.facts.reports)
  }

  private func finishChain(_ slot: UnsafeMutablePointer<FrameStorage>, time: Int64) {
    for (index, stage) in epoch.stages.enumerated() where stage.declared.usesRemaining {
      let entered = unsafe slot.pointee.entered[index]
      stage.remaining.record(nanoseconds: time - entered)
    }
  }
}
