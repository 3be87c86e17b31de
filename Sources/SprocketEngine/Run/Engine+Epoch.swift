internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// What is known of an epoch before it is made.
struct EpochRequest {
  var index: UInt32
  var source: SourceDescription
  var firstNumber: UInt64
  var memoryLimit: MemoryLimit
}

extension Engine {
  /// Extra slots where sinks gate. Larger: threads work in longer batches, at the cost of memory.
  static let offlineBacklog = 4
  /// Frames by which a source that waits may lead the lane that steers it. Larger: faster, but a write would
  /// reach the source after a number of frames that depends on the threads. At 1, before the next frame.
  static let steeredLead = 1

  /// Configures stages and sinks for the source as it is now, and lays out ring and memory.
  static func makeEpoch(
    _ request: EpochRequest, stages: [ChainStage], sinks: [SinkState], options: RunOptions,
    shared: RunShared, reportBytes: Int, makeUnpacker: () -> any Unpacker
  ) throws(RunError) -> Epoch {
    let source = request.source
    try MemoryPlan.check(source)
    let format = try configureStages(stages, source)
    let sinkParts = try configureSinks(sinks, stages, format, request, shared)
    let packers = sinks.map { !$0.hasFailed && $0.packs }
    let selectors = sinks.map { !$0.hasFailed && $0.sink.makeSelector() != nil }
    let asked = sinks.filter { !$0.hasFailed && $0.isOnDemand }
    let atEnd = sinks.indices.filter { !sinks[$0].tapsSource }
    let needs = ChainPlan.SinkNeeds(
      parts: sinkParts,
      askedParts: asked.reduce([]) { $0.union($1.setup?.parts ?? []) },
      selects: atEnd.contains { selectors[$0] },
      packs: atEnd.contains { packers[$0] },
      packsSource: sinks.indices.contains { sinks[$0].tapsSource && packers[$0] })
    var workerBytes = zip(sinks, packers).reduce(0) {
      $0 + ($1.1 ? $1.0.setup?.packerBytes ?? 0 : 0)
    }
    let preRollBytes = asked.reduce(0) { $0 + ($1.recorder?.preRoll?.bytes ?? 0) }
    let plan = ChainPlan(
      format: source.format, stages: stages, sinks: needs, workers: options.workers,
      verifies: options.verifies
    ) { format, parts in
      let plan = makeUnpacker().plan(format: format, parts: parts)
      workerBytes += plan.workingBytes
      return plan
    }
    try checkBudgets(stages, plan, source)

    for (index, state) in sinks.enumerated() {
      state.tap = plan.tap(
        packs: packers[index], selects: selectors[index], isOnDemand: state.isOnDemand,
        source: state.tapsSource)
    }
    let (ringPlan, depthLines) = planRing(plan, sinks, isLive: source.isLive)
    let capacities = zip(sinks, packers).map { $1 ? $0.setup?.packedCapacity ?? 0 : 0 }
    let layout = SlotLayout(
      plan: plan, source: source, stages: stages.count, reportBytes: reportBytes,
      packedCapacities: capacities)
    let traceBytes = shared.trace?.bytes(adding: plan.threadNames(stages, sinks)) ?? 0
    try MemoryPlan(
      format: source.format, slots: ringPlan.slotCount, slotBytes: layout.usedBytes,
      slotReserve: layout.size + layout.table.size,
      workerBytes: workerBytes * options.workers + traceBytes + preRollBytes
    ).check(request.memoryLimit)
    let ring = Ring(ringPlan) { event in unsafe futexWake(event.address) }
    for (state, offset) in zip(sinks, SlotLayout.packedOffsets(capacities)) {
      state.packedOffset = offset
    }
    let memory = try FrameMemory(layout, slotCount: ring.slotCount)
    return Epoch(
      index: request.index, source: source, plan: plan, stages: stages, sinks: sinks, ring: ring,
      memory: memory, shared: shared, depthLines: depthLines, firstNumber: request.firstNumber)
  }

  private static func configureStages(_ stages: [ChainStage], _ source: SourceDescription)
    throws(RunError) -> FrameFormat
  {
    var format = source.format
    var earlier: [String: (type: any FrameReport.Type, slot: ReportSlot)] = [:]
    for stage in stages {
      format = try stage.configure(format: format, source: source, earlier: earlier)
      if let type = stage.declared.reportType { earlier[stage.name] = (type, stage.reportSlot) }
    }
    return format
  }

  private static func configureSinks(
    _ sinks: [SinkState], _ stages: [ChainStage], _ format: FrameFormat, _ request: EpochRequest,
    _ shared: RunShared
  ) throws(RunError) -> FrameParts {
    let reports = stages.compactMap(\.reportLayout)
    var parts: FrameParts = []
    for state in sinks where !state.hasFailed {
      var setup = SinkSetup(
        format: format, epoch: request.index, source: request.source,
        isUntouched: !stages.contains { $0.declared.writing != nil }, reports: reports,
        stageNames: stages.map(\.name), changedSettings: { shared.settings.changed($0) })
      do throws(RunError) {
        try state.sink.configure(&setup)
      } catch {
        guard request.index > 0 else {
          throw error
        }
        state.setup = nil
        if let recordings = state.recordings {
          // The sink's recordings end. It may accept the next epoch's format.
          recordings.suspend(error)
        } else {
          // In a later epoch, for example a pipe that cannot take another format: this sink ends, the others
          // go on.
          state.fail(error, shared)
        }
        continue
      }
      state.setup = setup
      if !state.isOnDemand { parts.formUnion(setup.parts) }
    }
    return parts
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
  private static func planRing(_ plan: ChainPlan, _ sinks: [SinkState], isLive: Bool) -> (
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
      lines.append(("backlog of sinks", isLive ? sinks.longestBacklog : offlineBacklog))
    }
    let taps = sinks.map { state in
      let latest = state.setup?.takesLatest ?? false
      return RingPlan.Tap(
        upstream: .record(state.tap), gates: !isLive && !latest, latest: latest,
        parks: state.isOnDemand)
    }
    let depth = lines.reduce(0) { $0 + $1.frames }
    var ring = RingPlan(depth: depth, lanes: lanes, taps: taps)
    ring.depth = max(depth, ring.minimumDepth)
    if ring.depth > depth { lines.append(("to keep moving", ring.depth - depth)) }
    if ring.spareCount > 0 { lines.append(("spares of sinks", ring.spareCount)) }
    return (ring, lines)
  }
}

extension [SinkState] {
  fileprivate var longestBacklog: Int { reduce(0) { Swift.max($0, $1.setup?.backlog ?? 0) } }
}

extension RingPlan.Upstream {
  /// The cursor of the thread that seals this record.
  static func record(_ index: RecordIndex) -> RingPlan.Upstream {
    index.lane.map { .lane($0) } ?? .source
  }
}
