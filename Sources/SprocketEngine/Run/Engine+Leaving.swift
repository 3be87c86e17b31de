internal import SprocketCore
internal import Synchronization

/// A detached sink that has not finished: its thread still completes files.
struct LeavingSink {
  let place: SinkPlace
  /// The frames of its account.
  let frames: Range<UInt64>
  /// What source and chain had decided when it was detached, by value.
  let decided: [UInt64]
  /// The sink on whose thread it is finished and sealed.
  let owner: SinkState
}

/// The accounts of sinks that were detached: the latest ones.
struct DetachedLines {
  /// Most accounts that are kept. A larger value makes summaries of runs that change often longer.
  static let kept = 256
  private(set) var lines: [RunSummary.SinkLine] = []

  mutating func add(_ line: RunSummary.SinkLine) {
    if lines.count == Self.kept { lines.removeFirst() }
    lines.append(line)
  }

  var entries: [Ledger.Entry] {
    lines.map { Ledger.Entry(sink: $0.name, counts: $0.counts, frames: $0.frames) }
  }
}

/// Sinks that are detached.
///
/// Keeps of the contract of requests:
/// - A20: a sink's account is about the frames from its attachment to its detachment. What source and chain
///   decided before is subtracted (`SinkState.attach`). A sink is finished and sealed when it is detached,
///   on its own thread, with an account of its own; the run does not wait for that before its end.
extension Engine {
  /// Finishes sinks that were detached before frame `number`. The sinks of one change are finished on one
  /// thread, and then sealed: one may need the account of another.
  func letGo(_ removed: [SinkPlace], at number: UInt64) {
    guard let owner = removed.first?.state else { return }
    let decided = shared.counters.decidedSoFar
    let group = removed.map {
      LeavingSink(
        place: $0, frames: $0.state.firstNumber..<number, decided: decided, owner: owner)
    }
    leaving += group
    for place in removed {
      if !place.state.hasFailed { shared.noteDetached(place.sink) }
      place.state.isLeaving = true
      for job in recordings.detach(sink: place.state.id) {
        job.record.reason = .detached
        finisher?.add(job)
      }
    }
    let states = LeavingStates(group)
    owner.thread.perform { [shared] in states.finish(shared) }
  }

  /// Takes over the accounts of detached sinks that are complete. Returns whether there were some.
  func collectLeft() -> Bool {
    let count = leaving.count
    guard count > 0 else { return false }
    leaving.removeAll { sink in
      guard sink.owner.thread.isIdle, !recordings.isBusy(sink: sink.place.state.id) else {
        return false
      }
      collect(sink)
      return true
    }
    return leaving.count < count
  }

  /// Waits for the detached sinks, at the run's end.
  func awaitLeaving() {
    waitFor(leaving.map(\.owner))
    for sink in leaving where !sink.place.state.isDone.load(ordering: .acquiring) {
      sink.place.state.isStuck = true
      tellStuck(sink.place.state)
    }
  }

  /// Takes over the accounts of all detached sinks: their files are complete, or given up.
  func collectAllLeft() {
    for sink in leaving { collect(sink) }
    leaving = []
  }

  private func collect(_ sink: LeavingSink) {
    let state = sink.place.state
    if state.isStuck { recordings.leaveCurrent(sink: state.id) } else { state.takeLost(recordings) }
    let counts =
      state.isStuck
      ? stuckCounts(sink.place, produced: sink.frames.upperBound, decided: sink.decided)
      : state.counts
    let latency = state.isStuck ? DurationSummary() : state.latency.summary
    left.add(
      .init(
        Ledger.Entry(sink: state.sink.name, counts: counts, frames: sink.frames), latency: latency,
        state.sink))
    guard !state.isStuck else { return }
    for note in state.sink.notes { shared.note(note) }
    engineCPU = engineCPU.clampedSum(state.thread.cpuTime)
  }
}

/// The detached sinks of one change.
///
/// Unchecked: used by one thread at a time: the run's, then that of the first sink.
private final class LeavingStates: @unchecked Sendable {
  private let group: [LeavingSink]

  init(_ group: [LeavingSink]) { self.group = group }

  func finish(_ shared: RunShared) {
    for sink in group {
      let state = sink.place.state
      RunningCode(["sink `\(state.sink.name)`"]).during { state.finish(shared, .detached) }
    }
    let entries = group.map { sink in
      Ledger.Entry(
        sink: sink.place.sink.name, counts: sink.place.state.counts, frames: sink.frames)
    }
    for sink in group where !sink.place.state.hasFailed {
      sink.place.state.sealedCounts = sink.place.state.counts
      sink.place.state.seal(entries, sink.frames, shared)
    }
    for sink in group { sink.place.state.isDone.store(true, ordering: .releasing) }
  }
}
