public import SprocketCore
internal import Synchronization

/// A change of a running engine's shape (`Engine.reconfigure`). What it does not name stays as it is.
public struct Reconfiguration {
  /// Another source, not opened yet; for another format of the present one, a source with that format. If
  /// both use the same device (`Source.deviceIdentity`), the present one is closed first. `nil` keeps the
  /// present source.
  public var source: (any Source)?
  /// The whole chain. `nil` keeps the stages.
  public var stages: [StageChoice]?
  /// Sinks to add, which belong to no run yet.
  public var attached: [any Sink] = []
  /// Names of sinks to remove.
  public var detached: [String] = []
  /// `source` is the present one in another format, and begins with the values that its controls have now. A
  /// device keeps them by itself.
  public var keepsControls = false

  public init() {}
}

extension Engine {
  /// Changes source, stages and sinks while the run goes on: all of it, or nothing. If it throws, the run
  /// goes on as before, and the error tells why.
  ///
  /// Waits until the change holds: until the frames under way have passed the chain and the sinks.
  /// Meanwhile no frame is taken from a source that stays, so none is lost while its driver's queue lasts;
  /// gaps are counted. A change of sinks alone changes no stage, ends no recording and marks no
  /// discontinuity. With another source or other stages an epoch begins: stages are made anew, and
  /// recordings go on in a next file where the format is another one. Live settings that were changed hold
  /// on if the stages stay.
  ///
  /// A sink that is removed completes its files beside the run, which does not wait for it if it blocks. Its
  /// account, and that of a sink that is added, are about the frames that were produced while it was attached
  /// (`Ledger.Entry.frames`).
  ///
  /// Throws if a name is unknown, if source, stage or sink refuse, if memory does not suffice, if a sink that
  /// stays has taken no frame for 2 s because its disk or reader blocks, if another
  /// thread changes the run at the same time, if the run does not go on, and if it is called on one of the
  /// run's own threads, for example by a stage. If a device had to be closed for the change and cannot be
  /// opened again, the run ends with an error.
  ///
  ///     var change = Reconfiguration()
  ///     change.attached = [MovieSink(path: "second.mov")]
  ///     try engine.reconfigure(change)
  public func reconfigure(_ wanted: Reconfiguration) throws(RunError) {
    guard !RunningCode.isOnThread else {
      throw RunError(
        .usage, "the run's own threads cannot change it and wait for that; ask on another thread")
    }
    guard startTime.load(ordering: .relaxed) != 0 else {
      throw RunError(.usage, "the run has not begun; start it first")
    }
    guard shared.changes.reserve() else {
      throw RunError(.failed, "the run is being changed already; ask again when that is done")
    }
    defer { shared.changes.release() }
    var source: ShapeChange.NewSource?
    do throws(RunError) {
      for _ in 0..<Self.attempts {
        let change = try prepare(wanted, &source)
        try requireMovingSinks(change)
        guard shared.changes.ask(change) else { throw ChangePort.isOver }
        switch try answer(to: change) {
        case .done: return
        case .refused(let error): throw error
        case .outdated: continue
        }
      }
      throw RunError(
        .failed, "the source changed its format again and again meanwhile; ask again")
    } catch {
      // A source that shares its device was closed by the run's thread.
      if source?.description != nil { try? source?.gate.source.close() }
      throw error
    }
  }

  /// Attempts to prepare a change while the source begins epochs by itself. Larger: a source that does so
  /// all the time is refused later.
  private static let attempts = 8

  /// Makes all that can be made while the run goes on, without an effect on it.
  private func prepare(
    _ wanted: Reconfiguration, _ source: inout ShapeChange.NewSource?
  ) throws(RunError) -> ShapeChange {
    let now = current
    let change = ShapeChange(now.epoch)
    change.detached = try detached(wanted.detached, now.epoch)
    if let new = wanted.source {
      change.oldSource = now.gate.source
      change.keepsControls = wanted.keepsControls
      if source == nil { source = try prepare(new, beside: now.gate.source) }
      change.source = source
    }
    if wanted.stages != nil || wanted.source != nil {
      let (stages, bytes) = try Self.makeStages(
        wanted.stages ?? now.choices, workers: options.workers)
      change.chain = ShapeChange.NewChain(
        stages: stages, reportBytes: bytes, choices: wanted.stages ?? now.choices,
        keepsSettings: wanted.stages == nil)
    }
    try prepareSinks(wanted.attached, change)
    // Stages and sinks are configured for the source's format, which is known only when the source is open.
    if change.source == nil || change.source?.description != nil { try configure(change) }
    return change
  }

  /// Numbers of the sinks with these names, and of their companions.
  private func detached(_ names: [String], _ epoch: Epoch) throws(RunError) -> Set<Int> {
    var found: Set<Int> = []
    for name in names {
      guard let place = epoch.sinks.first(where: { $0.sink.name == name }) else {
        let known = epoch.sinks.map(\.sink.name)
        throw RunError(
          .usage,
          "no sink of this run is called \(name)"
            + (known.isEmpty ? "" : "; " + knownNames(known, near: name)))
      }
      let owner = epoch.sinks.first { $0.sink.companions.contains { $0 === place.sink } }
      if let owner, !names.contains(owner.sink.name) {
        throw RunError(
          .usage, "\(name) belongs to \(owner.sink.name); detach \(owner.sink.name) with it")
      }
      found.insert(place.state.id)
      for companion in place.sink.companions {
        for other in epoch.sinks where other.sink === companion { found.insert(other.state.id) }
      }
    }
    return found
  }

  private func prepare(
    _ new: any Source, beside old: any Source
  ) throws(RunError) -> ShapeChange.NewSource {
    let sharesDevice = new.deviceIdentity != nil && new.deviceIdentity == old.deviceIdentity
    guard sharesDevice else {
      return ShapeChange.NewSource(gate: SourceGate(new), description: try new.open())
    }
    guard old.again() != nil else {
      throw RunError(
        .usage, "the present source cannot be opened again if the new one fails; start another run")
    }
    return ShapeChange.NewSource(gate: SourceGate(new), description: nil)
  }

  private func prepareSinks(_ new: [any Sink], _ change: ShapeChange) throws(RunError) {
    let kept = change.base.sinks.filter { !change.detached.contains($0.state.id) }
    let sinks = new.flatMap { [$0] + $0.companions }
    try Self.checkNames(sinks, beside: kept.map(\.sink))
    if let known = sinks.first(where: { new in change.base.sinks.contains { $0.sink === new } }) {
      throw RunError(
        .usage, "the sink \(known.name) is, or was, part of this run; attach another object")
    }
    for sink in sinks {
      let state = try SinkState(
        id: sinkCount.wrappingAdd(1, ordering: .relaxed).oldValue, sink: sink, among: sinks)
      try state.makeRecordings(recordings, shared, finishing)
      change.attached.append(SinkPlace(state, index: 0))
    }
  }

  /// Configures new stages and new sinks.
  private func configure(_ change: ShapeChange) throws(RunError) {
    let request = request(for: change, change.source?.description ?? change.base.source)
    var facts = change.base.facts
    if let chain = change.chain {
      try Self.configure(chain.stages, for: request.source)
      facts = ChainFacts(chain.stages, request.source)
    }
    for index in change.attached.indices {
      try change.attached[index].configure(facts, request.index, request.source, shared)
    }
  }

  /// The epoch that a change asks for, with the sinks that stay in front. `behind`: numbers of sinks that
  /// blocked meanwhile.
  func request(
    for change: ShapeChange, _ source: SourceDescription, without behind: Set<Int> = [],
    isConfigured: Bool = true
  ) -> EpochRequest {
    let base = change.base
    let gone = change.detached.union(behind)
    let kept = base.sinks.filter { !gone.contains($0.state.id) }
    let places =
      kept.map { change.isContinuous ? $0 : SinkPlace($0.state, index: 0) } + change.attached
    return EpochRequest(
      index: change.isContinuous ? base.index : base.index + 1, generation: base.generation + 1,
      isContinuous: change.isContinuous, source: source, firstNumber: base.firstNumber,
      stages: change.chain?.stages ?? base.stages,
      configuresStages: change.chain != nil && !isConfigured,
      sinks: places.enumerated().map { SinkPlace($1, index: $0) },
      reportBytes: change.chain?.reportBytes ?? base.reportBytes, refusal: .throwsError)
  }

  /// Waits until the run's thread has answered.
  private func answer(to change: ShapeChange) throws(RunError) -> ShapeChange.Answer {
    let patience = options.drainLimit.nanosecondCount + 2 * EpochThreads.graceNanoseconds
    if let answer = change.wait(until: deadline(in: patience)) { return answer }
    if change.withdraw() {
      shared.changes.forget(change)
      throw RunError(
        .failed, "the source did not return from a call in time, so nothing was changed; ask again")
    }
    // The run's thread has taken the change. It answers when the epoch has drained, and a new source is
    // open.
    while true {
      let isOver = isOver.value == 1
      if let answer = change.wait(until: deadline(in: 1_000_000_000)) { return answer }
      if isOver { throw ChangePort.isOver }
    }
  }
}
