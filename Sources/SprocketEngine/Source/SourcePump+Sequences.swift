internal import SprocketCore
internal import Synchronization

/// A sequence of recordings that the source's thread has taken from the port.
struct RunningSequence {
  let sequence: RecordingSequence
  var course: SequenceCourse
  /// The port of the controls that are restored; `nil` if none are, because the source was replaced.
  var port: ControlPort?
  /// When the sequence fails, in nanoseconds on the monotonic clock; `nil` before its first write.
  var deadline: Int64?
  /// Recordings that a request has stopped before their step.
  var stopped: Set<RecordingID> = []

  init(_ sequence: RecordingSequence) {
    self.sequence = sequence
    port = sequence.plan.port
    course = SequenceCourse(
      controls: sequence.plan.controls, recordings: sequence.recordings,
      restored: sequence.plan.restored)
  }

  func has(_ id: RecordingID) -> Bool { sequence.recordings.joined().contains(id) }

  /// Fails the sequence if one of its sinks was detached.
  mutating func checkSinks(_ gates: [GatedOutput]) {
    let isWhole = sequence.plan.changes.joined().allSatisfy { step in
      gates.contains { $0.sink == step.sink }
    }
    if !isWhole { fail("a sink of the sequence was detached from the run") }
  }

  mutating func fail(_ sentence: String) {
    course.fail(sentence)
    noteFailure()
  }

  /// Stores a failure where callers can read it, before the news tell that its recordings have ended.
  func noteFailure() {
    guard let failure = course.failure else { return }
    sequence.state.withLock { $0.end = $0.end ?? .failed(failure) }
  }

  /// Lets the source write these values when it closes; none if they are restored.
  func restoreAtEnd(_ values: [ControlValue]) {
    guard !sequence.plan.restored.isEmpty else { return }
    port?.writeAtEnd(values.map { ($0.control, $0.value) })
  }

  /// Fails the sequence: the source was opened again, with the port `new`, or was replaced (`nil`).
  mutating func move(to new: ControlPort?) {
    guard let old = port, old !== new else { return }
    fail("the source began anew before all steps were recorded; ask again")
    course.move(from: old, to: new)
    port = new
  }
}

/// Sequences of recordings.
///
/// Keeps of the contract of requests:
/// - A21: see `SequenceCourse`. A sequence that is not over after its time fails.
extension SourcePump {
  /// `stopped`: recordings of it that a request has stopped already.
  func begin(_ sequence: RecordingSequence, without stopped: Set<RecordingID>) {
    var new = RunningSequence(sequence)
    new.stopped = stopped
    new.checkSinks(gates)
    if new.port !== controls { new.move(to: nil) }
    sequences.append(new)
  }

  /// Carries out the actions of the sequences that are due at frame `number`. The frame's events have to be
  /// taken first. Costs one load if there is no sequence.
  func advanceSequences(at number: UInt64) {
    while !sequences.isEmpty, gates.allSatisfy(\.output.hasRoom) {
      checkTime()
      guard let action = sequences[0].course.next(at: number) else { return }
      switch action {
      case .write(let values):
        if let batch = write(values) {
          sequences[0].course.wrote(batch)
        } else if sequences[0].course.isHurried {
          sequences[0].course.skipRestoring()
        } else {
          return
        }
      case .begin(let step, let made):
        sequences[0].sequence.state.withLock { $0.made.append(made) }
        for change in sequences[0].sequence.plan.changes[step] { begin(change, at: number) }
      case .cancel(let ids):
        for change in sequences[0].sequence.plan.changes.joined() {
          cancel(change, ids, at: number)
        }
      case .finish(let end):
        if sequences[0].course.unrestored == nil { sequences[0].restoreAtEnd([]) }
        sequences[0].sequence.state.withLock { ($0.end, $0.isOver) = (end, true) }
        sequences.removeFirst()
      }
    }
  }

  /// Nanoseconds after the deadline in which the source may answer to the restored values. Larger: slower
  /// drivers are waited for.
  private static let restoring: Int64 = 1_000_000_000

  private func checkTime() {
    let now = monotonicNow()
    let limit = sequences[0].sequence.plan.limit.nanosecondCount
    let end = sequences[0].deadline ?? now.clampedSum(limit)
    if sequences[0].deadline == nil {
      sequences[0].restoreAtEnd(sequences[0].sequence.plan.restored)
    }
    sequences[0].deadline = end
    let isFailed = sequences[0].course.failure != nil
    if !isFailed, sequences[0].sequence.state.withLock(\.isStopped) {
      sequences[0].fail("it was stopped")
    }
    guard now > end else { return }
    if !isFailed {
      sequences[0].fail("not all steps were recorded within \(sequences[0].sequence.plan.limit)")
    }
    sequences[0].course.isHurried = now > end.clampedSum(Self.restoring)
  }

  /// Writes values; `nil` if the port has no room for them now.
  private func write(_ values: [ControlValue]) -> ShownBatch? {
    guard !values.isEmpty, let port = sequences[0].port else { return ShownBatch() }
    return ShownBatch(values, to: port, unknownDelay: Int(DelayWatch.patience))
  }

  private func begin(_ step: RequestPort.Step, at number: UInt64) {
    guard case .begin(let id, _) = step.change,
      let index = gates.firstIndex(where: { $0.sink == step.sink })
    else { return }
    guard !sequences[0].stopped.contains(id) else { return sequences[0].course.ended(id) }
    let stamped = gates[index].gate.apply(step.change)
    if let stamped { stamp(stamped, gate: index, at: number) }
    if stamped?.kind != .begin { sequences[0].course.ended(id) }
  }

  private func cancel(_ step: RequestPort.Step, _ ids: Set<RecordingID>, at number: UInt64) {
    guard case .begin(let id, _) = step.change, ids.contains(id),
      let index = gates.firstIndex(where: { $0.sink == step.sink })
    else { return }
    if let stamped = gates[index].gate.apply(.end(id)) {
      stamp(stamped, gate: index, at: number)
    }
  }

  /// A recording has ended, or a request ends it.
  func noteEnded(_ id: RecordingID) {
    guard !sequences.isEmpty else { return }
    sequences[0].course.ended(id)
    for index in sequences.indices where sequences[index].has(id) {
      sequences[index].stopped.insert(id)
    }
  }

  /// An event of the source, which may answer a write of the sequence under way.
  func noteAnswer(_ event: Event) {
    guard !sequences.isEmpty else { return }
    sequences[0].course.take(event) { ticket in
      if case .refused(let reason) = controls?.outcome(of: ticket) { reason } else { nil }
    }
    sequences[0].noteFailure()
  }
}
