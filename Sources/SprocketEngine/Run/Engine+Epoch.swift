internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// An epoch that is to be made.
struct EpochRequest {
  /// See `Epoch`.
  var index: UInt32
  var generation: UInt32
  var isContinuous = false
  var source: SourceDescription
  var firstNumber: UInt64
  var stages: [ChainStage]
  /// False if the stages are configured for this source already.
  var configuresStages = true
  /// Those without a `setup` are asked for it, unless they have failed.
  var sinks: [SinkPlace]
  var reportBytes: Int
  /// What happens if a sink refuses the epoch.
  var refusal: Refusal

  enum Refusal {
    /// The epoch is not made.
    case throwsError
    /// The sink, or its recording, ends; the others go on.
    case endsSink
  }
}

extension Engine {
  /// Most extra slots where sinks gate. Larger: threads work in longer batches, at the cost of memory.
  static let offlineBacklog = 4
  /// Frames by which a source that waits may lead the lane that steers it. Larger: faster, but a write
  /// would reach the source after a number of frames that depends on the threads. At 1, before the next
  /// frame.
  static let steeredLead = 1

  /// Configures stages and sinks, where the request says so, and lays out ring and memory.
  static func makeEpoch(
    _ request: EpochRequest, options: RunOptions, memoryLimit: MemoryLimit, shared: RunShared,
    makeUnpacker: () -> any Unpacker
  ) throws(RunError) -> Epoch {
    let (source, stages) = (request.source, request.stages)
    try MemoryPlan.check(source)
    if request.configuresStages { try configure(stages, for: source) }
    let facts = ChainFacts(stages, source)
    var sinks = request.sinks
    try configure(&sinks, request, facts, shared)
    var workerBytes = sinks.reduce(0) { $0 + ($1.packs ? $1.setup?.packerBytes ?? 0 : 0) }
    let sinkBytes = sinks.reduce(0) {
      $0 + ($1.state.recorder?.preRoll?.bytes ?? 0) + ($1.setup?.ownBytes ?? 0)
    }
    let plan = ChainPlan(
      format: source.format, stages: stages, sinks: ChainPlan.SinkNeeds(sinks),
      workers: options.workers, verifies: options.verifies
    ) { format, parts in
      let plan = makeUnpacker().plan(format: format, parts: parts)
      workerBytes += plan.workingBytes
      return plan
    }
    try checkBudgets(stages, plan, source)

    let capacities = sinks.map { $0.setup?.packedCapacity ?? 0 }
    for (index, offset) in SlotLayout.packedOffsets(capacities).enumerated() {
      sinks[index].packedOffset = offset
      sinks[index].tap = plan.tap(of: sinks[index])
    }
    let (ringPlan, depthLines) = planRing(plan, sinks, isLive: source.isLive)
    let layout = SlotLayout(
      plan: plan, source: source, stages: stages.count, reportBytes: request.reportBytes,
      packedCapacities: capacities)
    let traceBytes = shared.trace?.bytes(adding: plan.threadNames(stages, sinks)) ?? 0
    try MemoryPlan(
      format: source.format, slots: ringPlan.slotCount, slotBytes: layout.usedBytes,
      slotReserve: layout.size + layout.table.size,
      workerBytes: workerBytes * options.workers + traceBytes + sinkBytes
    ).check(memoryLimit)
    let ring = makeRing(ringPlan)
    let memory = try FrameMemory(layout, slotCount: ring.slotCount)
    return Epoch(
      request, facts, plan: plan, sinks: sinks, ring: ring, memory: memory, shared: shared,
      depthLines: depthLines)
  }

  static func makeRing(_ plan: RingPlan) -> Ring {
    Ring(plan) { event in unsafe futexWake(event.address) }
  }

  /// Configures the stages of a chain.
  static func configure(
    _ stages: [ChainStage], for source: SourceDescription
  ) throws(RunError) {
    var format = source.format
    var earlier: [String: (type: any FrameReport.Type, slot: ReportSlot)] = [:]
    for stage in stages {
      format = try stage.configure(format: format, source: source, earlier: earlier)
      if let type = stage.declared.reportType { earlier[stage.name] = (type, stage.reportSlot) }
    }
  }

  /// Asks the sinks that have not declared their part. Recorders come last, because they may begin a file.
  private static func configure(
    _ sinks: inout [SinkPlace], _ request: EpochRequest, _ facts: ChainFacts, _ shared: RunShared
  ) throws(RunError) {
    let isRecorder = sinks.map { $0.sink is any Recorder }
    for index in sinks.indices.sorted(by: { !isRecorder[$0] && isRecorder[$1] })
    where sinks[index].setup == nil && !sinks[index].state.hasFailed {
      let state = sinks[index].state
      do throws(RunError) {
        if let refusal = sinks[index].refusal {
          state.recordings?.suspend(refusal)
          continue
        }
        try sinks[index].configure(facts, request.index, request.source, shared)
      } catch {
        guard request.refusal == .endsSink else { throw error }
        sinks[index].leaveOut(error, shared)
      }
    }
  }

  /// A frame cannot be younger at the chain's end than the look-ahead that it waits for.
  private static func checkBudgets(
    _ stages: [ChainStage], _ plan: ChainPlan, _ source: SourceDescription
  ) throws(RunError) {
    let rate = source.format.rate.framesPerSecond
    guard source.isLive, rate > 0 else { return }
    let lookahead = Double(plan.totalLookahead) / rate
    for stage in stages {
      guard let budget = stage.declared.ageBudget else { continue }
      let seconds = Double(budget.nanosecondCount) / 1e9
      guard seconds < lookahead else { continue }
      throw RunError(
        .usage,
        "\(stage.name) allows frames to be \(budget.settingText) old, but the chain waits "
          + "\(Int((lookahead * 1000).rounded())) ms for later frames: allow more, or look less far "
          + "ahead")
    }
  }

  /// The ring's depth as a sum with one line per holder (R6), look-ahead among them (R2); never less
  /// than what keeps every lane moving.
  private static func planRing(_ plan: ChainPlan, _ sinks: [SinkPlace], isLive: Bool) -> (
    RingPlan, [(holder: String, frames: Int)]
  ) {
    var lines: [(holder: String, frames: Int)] = [("source", 2)]
    var lanes: [RingPlan.Lane] = []
    for (index, lane) in plan.lanes.enumerated() {
      // Live, a lane keeps what sinks that follow it may still have to take.
      let kept = isLive ? sinks.filter { $0.tap == .lane(index) }.longestBacklog : 0
      lanes.append(
        RingPlan.Lane(
          upstream: .record(plan.upstream(ofLane: index)), workers: lane.workers,
          lookahead: lane.lookahead, history: max(lane.history, kept),
          lead: lane.steers && !isLive ? steeredLead : nil))
      lines.append(("lane \(index)", lane.workers))
      if lane.lookahead > 0 { lines.append(("lane \(index), look-ahead", lane.lookahead)) }
      if lane.history > 0 { lines.append(("lane \(index), history", lane.history)) }
    }
    if !sinks.isEmpty {
      let backlog = sinks.longestBacklog
      lines.append(("backlog of sinks", isLive ? backlog : min(backlog, offlineBacklog)))
    }
    let taps = sinks.map { sink in
      let latest = sink.setup?.takesLatest ?? false
      return RingPlan.Tap(
        upstream: .record(sink.tap), gates: !isLive && !latest, latest: latest,
        parks: sink.state.parks)
    }
    let depth = lines.reduce(0) { $0 + $1.frames }
    var ring = RingPlan(depth: depth, lanes: lanes, taps: taps)
    ring.depth = max(depth, ring.minimumDepth)
    if ring.depth > depth { lines.append(("to keep moving", ring.depth - depth)) }
    if ring.spareCount > 0 { lines.append(("spares of sinks", ring.spareCount)) }
    return (ring, lines)
  }
}

extension [SinkPlace] {
  fileprivate var longestBacklog: Int { reduce(0) { Swift.max($0, $1.setup?.backlog ?? 0) } }
}

extension RingPlan.Upstream {
  /// The cursor of the thread that seals this record.
  static func record(_ index: RecordIndex) -> RingPlan.Upstream {
    index.lane.map { .lane($0) } ?? .source
  }
}

extension SinkPlace {
  /// Leaves a sink out of the epoch that it refused.
  mutating func leaveOut(_ error: RunError, _ shared: RunShared) {
    setup = nil
    if let recordings = state.recordings {
      // The sink's recordings end. It may accept the next epoch's format.
      refusal = error
      recordings.suspend(error)
    } else {
      // For example a pipe that cannot take another format.
      state.fail(error, shared)
    }
  }

  /// Asks the sink for its part in the epoch of that number.
  mutating func configure(
    _ facts: ChainFacts, _ epoch: UInt32, _ source: SourceDescription, _ shared: RunShared
  ) throws(RunError) {
    var setup = SinkSetup(
      format: facts.format, epoch: epoch, source: source, isUntouched: facts.isUntouched,
      reports: facts.reports, stageNames: facts.stageNames,
      changedSettings: { shared.settings.changed($0) })
    do throws(RunError) {
      try RunningCode(["sink `\(sink.name)`"], of: shared.label).during { () throws(RunError) in
        try sink.configure(&setup)
        hasSelector = sink.makeSelector() != nil
      }
    } catch {
      throw RunError(error, of: state.title)
    }
    self.setup = setup
  }
}

extension ChainPlan {
  /// The record that a sink reads.
  fileprivate func tap(of sink: SinkPlace) -> RecordIndex {
    tap(
      packs: sink.packs, selects: sink.hasSelector, isOnDemand: sink.isOnDemand,
      source: sink.tapsSource)
  }
}

extension ChainPlan.SinkNeeds {
  /// What these sinks need of the chain.
  init(_ sinks: [SinkPlace]) {
    func parts(_ sinks: [SinkPlace]) -> FrameParts {
      sinks.reduce([]) { $0.union($1.setup?.parts ?? []) }
    }
    let atEnd = sinks.filter { !$0.tapsSource }
    self.init(
      parts: parts(sinks.filter { !$0.isOnDemand }), askedParts: parts(sinks.filter(\.isOnDemand)),
      selects: atEnd.contains(where: \.hasSelector), packs: atEnd.contains(where: \.packs),
      packsSource: sinks.contains { $0.tapsSource && $0.packs })
  }
}
