internal import SprocketCore
internal import Synchronization

/// Sinks that left the run together and have not finished. One change removed them, or one of them blocked
/// at the end of an epoch. The run's thread uses this.
struct LeavingGroup {
  let places: [SinkPlace]
  /// The epoch that they were part of.
  private let epoch: Epoch
  private let options: RunOptions
  /// Number after the last frame of their accounts.
  let end: UInt64
  /// What source and chain had decided when they left, by value.
  let decided: [UInt64]
  /// Whether their finishing has begun. It begins when none of their threads writes a frame.
  private(set) var isFinishing = false

  init(_ places: [SinkPlace], of epoch: Epoch, at end: UInt64, _ options: RunOptions) {
    (self.places, self.epoch, self.end, self.options) = (places, epoch, end, options)
    decided = epoch.shared.counters.decidedSoFar
  }

  func frames(of place: SinkPlace) -> Range<UInt64> { place.state.firstNumber..<end }

  /// Whether all their threads have nothing to do.
  var isIdle: Bool { places.allSatisfy(\.state.thread.isIdle) }

  /// Gives a fate to the frames that came while the epoch ended. The thread that finishes the sinks calls it.
  func accountForTheRest() {
    for place in places where place.state.nextNumber < end {
      SinkWorker(epoch: epoch, place: place, options: options).account(upTo: end)
    }
  }

  /// Finishes and seals the sinks on the thread of the first, once all are idle: one may need the account of
  /// another.
  mutating func finishIfIdle(_ shared: RunShared) {
    guard !isFinishing, isIdle, let owner = places.first?.state.thread else { return }
    isFinishing = true
    let states = LeavingStates(self)
    owner.perform { states.finish(shared) }
  }
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

/// Sinks that leave the run.
///
/// Keeps of the contract of requests:
/// - A18: a sink that blocks at the end of an epoch leaves the run, which goes on. What it may still read of
///   that epoch stays as it is, and it writes the frames that wait for it when it goes on, unless the epoch
///   was flushed.
/// - A20: a sink's account is about the frames from its attachment to its detachment. What source and chain
///   decided before is subtracted (`SinkState.attach`). A sink is finished and sealed when it has left, on
///   its own thread, with an account of its own; the run does not wait for that before its end.
extension Engine {
  /// Lets sinks of an epoch that has ended go: they are not part of the run from frame `number` on.
  func letGo(_ removed: [SinkPlace], of epoch: Epoch, at number: UInt64) {
    guard !removed.isEmpty else { return }
    for place in removed {
      for job in recordings.detach(sink: place.state.id) {
        job.record.reason = .detached
        finisher?.add(job)
      }
    }
    leaving.append(LeavingGroup(removed, of: epoch, at: number, options))
    _ = collectLeft()
  }

  /// Lets go of the sinks that block at the end of an epoch, each with its companions. Adds an error to the
  /// run for each one that is not in `asked`.
  func leaveBehind(_ late: [SinkPlace], asked: Set<Int>, at number: UInt64) {
    behind = []
    guard !late.isEmpty else { return }
    for owner in epoch.sinks {
      let isCompanion = epoch.sinks.contains { $0.sink.companions.contains { $0 === owner.sink } }
      guard !isCompanion else { continue }
      let group = epoch.sinks.filter { place in
        place.sink === owner.sink || owner.sink.companions.contains { $0 === place.sink }
      }
      guard group.contains(where: { place in late.contains { $0.sink === place.sink } }) else {
        continue
      }
      behind += group.map(\.state)
      letGo(group, of: epoch, at: number)
    }
    for place in late where !asked.contains(place.state.id) { tellLeft(place.state) }
    sinks.removeAll { state in behind.contains { $0 === state } }
  }

  func tellLeft(_ state: SinkState) {
    shared.fail(
      RunError(
        .failed,
        "\(state.sink.name) took no frame while the run waited for it, so the run went on without it; "
          + "look at what it waits for: a disk, or a reader"))
  }

  /// Finishes the sinks that left and do not block any more, and takes over the accounts that are complete.
  /// Returns whether there were some.
  func collectLeft() -> Bool {
    for index in leaving.indices { leaving[index].finishIfIdle(shared) }
    let count = leaving.count
    guard count > 0 else { return false }
    leaving.removeAll { group in
      guard group.isFinishing, group.isIdle,
        !group.places.contains(where: { recordings.isBusy(sink: $0.state.id) })
      else { return false }
      collect(group)
      return true
    }
    return leaving.count < count
  }

  /// Nanoseconds of waiting after which the user is told that the run's end waits for a sink. A larger value
  /// tells it later.
  private static let silence: Int64 = 500_000_000

  /// Waits for the sinks that left, at the run's end.
  func awaitLeaving() {
    for place in leaving.flatMap(\.places)
    where !place.state.thread.wait(until: deadline(in: Self.silence)) {
      shared.notice.withLock {
        $0 = "the end waits for the sink `\(place.sink.name)`, which left the run before"
      }
    }
    waitFor(leaving.flatMap(\.places).map(\.state))
    _ = collectLeft()
    waitFor(leaving.filter(\.isFinishing).compactMap(\.places.first?.state))
    for place in leaving.flatMap(\.places) where !place.state.isDone.load(ordering: .acquiring) {
      place.state.isStuck = true
      tellStuck(place.state)
    }
  }

  /// Takes over the accounts of all sinks that left: their files are complete, or given up.
  func collectAllLeft() {
    for group in leaving { collect(group) }
    leaving = []
  }

  private func collect(_ group: LeavingGroup) {
    for place in group.places {
      let state = place.state
      let frames = group.frames(of: place)
      if state.isStuck {
        recordings.leaveCurrent(sink: state.id)
      } else {
        state.takeLost(recordings)
      }
      let counts =
        state.isStuck
        ? stuckCounts(place, produced: frames.upperBound, decided: group.decided) : state.counts
      left.add(
        .init(Ledger.Entry(sink: state.sink.name, counts: counts, frames: frames), state))
      guard !state.isStuck else { continue }
      for note in state.sink.notes { shared.note(note) }
      engineCPU = engineCPU.clampedSum(state.thread.cpuTime)
    }
  }
}

/// The sinks of a group, to be finished.
///
/// Unchecked: used by one thread at a time: the run's, then that of the first sink.
private final class LeavingStates: @unchecked Sendable {
  private let group: LeavingGroup

  init(_ group: LeavingGroup) { self.group = group }

  func finish(_ shared: RunShared) {
    let states = group.places.map(\.state)
    group.accountForTheRest()
    for state in states {
      RunningCode(["sink `\(state.sink.name)`"], of: shared.label).during {
        state.finish(shared, .detached)
      }
    }
    let entries = group.places.map { place in
      Ledger.Entry(
        sink: place.sink.name, counts: place.state.counts, frames: group.frames(of: place))
    }
    for place in group.places where !place.state.hasFailed {
      place.state.sealedCounts = place.state.counts
      place.state.seal(entries, group.frames(of: place), shared)
    }
    for state in states { state.isDone.store(true, ordering: .releasing) }
  }
}
