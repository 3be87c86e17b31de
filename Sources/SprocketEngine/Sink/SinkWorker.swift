internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// A sink's thread: takes frames in order, and sees to it that every produced frame ends in exactly
/// one fate for this sink.
///
/// Keeps of the ring's contract:
/// - R5: live, it pins the frame that it works on and gates no other thread; when it is lapped, the
///   oldest frames are `behind`, for this sink only. Offline it gates, and no frame is lost.
/// - R10: what source and chain decided (the tape) comes first; only a frame that would have been
///   this sink's is `behind`, `skipped`, `unselected`, `failed` or `flushed`. Where a sink cannot
///   finish, `delivered` turns into `failed` (see `SinkState.fail`).
/// - A8 of the contract of requests: of an on-demand sink, a frame that was not admitted is `unselected`; source
///   and chain go before it, `failed` and `flushed` after it.
/// - A10: an idle on-demand sink parks: no frame wakes its thread.
/// - e1, e2: with each number it gets the events just before that frame (see `EventReader`).
final class SinkWorker: @unchecked Sendable {
  // Unchecked: used by its thread alone between start and join.

  /// In `FrameStorage.packedCounts`: the sink's selector did not want the frame.
  static let unselected = -1
  /// The sink's packer could not pack it.
  static let unpackable = -2
  /// Pixels that on-demand sinks alone read are damaged.
  static let damaged = -3

  private let epoch: Epoch
  private let state: SinkState
  private let wait: WaitStrategy
  private let drainLimit: Int64
  private let code: RunningCode
  private let trace: (thread: TraceThread, step: UInt16)?

  init(epoch: Epoch, state: SinkState, options: RunOptions) {
    self.epoch = epoch
    self.state = state
    wait = options.wait
    drainLimit = options.drainLimit.nanosecondCount
    code = RunningCode(["sink `\(state.sink.name)`"])
    trace = epoch.shared.trace.map { ($0.thread(state.traceName), $0.step(state.traceName)) }
  }

  func run() {
    trace?.thread.begin()
    defer { trace?.thread.end() }
    code.during {
      var reader = epoch.ring.makeReader(tap: RingPlan.TapIndex(state.index))
      var waiter = Waiter(wait)
      state.recordings?.beginEpoch(at: state.nextNumber)
      loop: while true {
        switch reader.next() {
        case .frame(_, let slot):
          waiter.reset()
          unsafe take(epoch.memory.slots + slot)
          reader.release()
        case .lapped, .skipped:
          break
        case .wait:
          if epoch.isAbandoned.load(ordering: .acquiring) { break loop }
          if state.isOnDemand, isParked(&reader) {
            let ticket = reader.prepareToWait()
            // Looked at with the ticket in hand: what sets it wakes all afterwards.
            if epoch.isAbandoned.load(ordering: .acquiring) { break loop }
            waiter.parkIdle(ticket)
          } else if !waiter.spinsOn() {
            waiter.park(reader.prepareToWait())
          }
        case .end:
          break loop
        }
      }
      account(upTo: epoch.endNumber.load(ordering: .acquiring))
      state.recordings?.endEpoch()
      if epoch.isLast.load(ordering: .acquiring) { finish() }
    }
  }

  /// Does what `run` does at the end of the last epoch, if that epoch could not be made.
  func conclude(upTo number: UInt64) {
    code.during {
      account(upTo: number, epoch: .max)
      finish()
    }
  }

  private func take(_ slot: UnsafeMutablePointer<FrameStorage>) {
    let record = unsafe slot.pointee.records[state.tap]
    account(upTo: record.number)
    state.nextNumber = record.number + 1
    let packed = unsafe slot.pointee.packedCounts[state.index]
    if !record.isAlive, !state.tapsSource {
      unsafe lose(slot, record, record.chainFate)
    } else if packed == Self.unselected, state.isOnDemand {
      unsafe lose(slot, record, .unselected)
    } else if let fate = state.lossAfterFailure {
      unsafe lose(slot, record, fate)
    } else if epoch.isFlushing || record.number < state.recordings?.flushedEnd ?? 0 {
      unsafe lose(slot, record, .flushed)
    } else if packed == Self.unpackable {
      unsafe lose(slot, record, .failed)
    } else if packed == Self.damaged {
      unsafe lose(slot, record, .corrupt)
    } else if packed == Self.unselected {
      unsafe lose(slot, record, .unselected)
    } else if let recordings = state.recordings, !recordings.takes(record) {
      if unsafe !holds(slot, packed: packed) { unsafe lose(slot, record, .unselected) }
    } else {
      unsafe deliver(slot, record, packed: packed)
    }
  }

  private func deliver(
    _ slot: UnsafeMutablePointer<FrameStorage>, _ record: FrameRecord, packed: Int
  ) {
    receiveEvents(upTo: record.number)
    let began = monotonicNow()
    let frame = unsafe PackedFrame(
      view: view(of: slot, now: began), bytes: slot.pointee.packed + state.packedOffset,
      count: packed)
    do throws(RunError) {
      try state.sink.write(frame)
      state.counts[.delivered] += 1
      state.recordings?.noteWritten(record)
      epoch.shared.counters.delivered[state.index].add()
      let written = monotonicNow()
      // A file may say anything of when a frame was captured.
      let sinceCapture = Timestamp(nanoseconds: written, clock: .monotonic)
        .nanoseconds(since: record.captured)
      state.latency.record(sinceCapture ?? written - record.dequeued)
      trace?.thread.add(
        trace?.step ?? 0, frame: record.number, from: began, to: written, fate: .delivered)
    } catch {
      if !state.isOnDemand { fail(error) }
      let fate = state.lossAfterFailure ?? .failed
      defer {
        if let recordings = state.recordings {
          state.counts[.failed] += 1
          recordings.fail(error, at: record.number + 1, loses: 1)
        } else {
          lose(record.number, fate)
        }
      }
      trace?.thread.add(
        trace?.step ?? 0, frame: record.number, from: began, to: monotonicNow(), fate: fate)
    }
  }

  /// Whether the frame is kept for a recording that begins later. It gets its fate then.
  private func holds(_ slot: UnsafeMutablePointer<FrameStorage>, packed: Int) -> Bool {
    let frame = unsafe PackedFrame(
      view: view(of: slot, now: monotonicNow()), bytes: slot.pointee.packed + state.packedOffset,
      count: packed)
    return state.recordings?.holds(frame) ?? false
  }

  private func view(of slot: UnsafeMutablePointer<FrameStorage>, now: Int64) -> FrameView {
    var access = epoch.plan.sinkAccess
    access.lane = state.tap
    access.parts = state.setup?.parts ?? []
    return unsafe FrameView(
      unsafeStorage: slot, access: access, now: now, neighbours: .none,
      events: state.events.received, reports: epoch.reports)
  }

  /// Reads the events up to that frame that follow the frame last written or accounted for.
  private func receiveEvents(upTo number: UInt64) {
    code.enter(0, frame: number)
    let log = epoch.shared.events
    let missed = state.events.receive(log, below: log.end, upTo: number)
    if missed > 0 { epoch.shared.counters.droppedEvents.add(missed) }
  }

  /// Gives a fate to all numbers before `number` that did not reach this sink, and applies the stamps up to
  /// `number`.
  private func account(upTo number: UInt64, epoch last: UInt32? = nil) {
    while let stamp = state.recordings?.pending, stamp.number <= number,
      stamp.epoch <= last ?? epoch.index
    {
      apply(stamp)
    }
    accountAll(upTo: number)
  }

  private func apply(_ stamp: Stamp) {
    accountAll(upTo: stamp.number)
    let wasRecording = state.recordings?.isRecording ?? false
    state.recordings?.apply(stamp)
    // Events before its first frame do not belong to a recording.
    if !wasRecording { state.events.skip(epoch.shared.events, below: stamp.number) }
  }

  /// Nothing is to be taken. Applies stamps for which no frame has to come, and parks if no frame is wanted.
  private func isParked(_ reader: inout Reader) -> Bool {
    guard !reader.isParked else { return true }
    guard let recordings = state.recordings else { return false }
    // Read before the stamps, so that a later stamp prevents the parking.
    let asked = reader.askCount
    while let stamp = recordings.pending {
      // Source and chain have decided what became of all below the position, and this sink has taken it.
      let isReached = stamp.position <= min(reader.nextPosition, reader.upstreamLimit)
      guard stamp.epoch < epoch.index || stamp.epoch == epoch.index && isReached else {
        if stamp.epoch == epoch.index { recordings.endEarly(limit: drainLimit) }
        return false
      }
      apply(stamp)
    }
    return recordings.isIdle && reader.park(since: asked)
  }

  private func accountAll(upTo number: UInt64) {
    while state.nextNumber < number {
      let next = state.nextNumber
      if let value = epoch.shared.tape.value(of: next) {
        state.nextNumber = next + 1
        let entry = TapeEntry(value: value)
        lose(
          next, entry?.fate(atSource: state.tapsSource) ?? absentFate(next),
          sourceFate: state.tapsSource ? entry?.sourceFate : nil)
      } else {
        accountFallen(upTo: number)
      }
    }
  }

  /// The fate of a frame that this sink did not see in time.
  private func absentFate(_ number: UInt64) -> Fate {
    if let fate = state.lossAfterFailure { return fate }
    if let recordings = state.recordings {
      if number < recordings.flushedEnd { return .flushed }
      if !recordings.isAdmitting { return .unselected }
    }
    if epoch.isFlushing { return .flushed }
    return state.setup?.takesLatest == true ? .skipped : .behind
  }

  /// Accounts for numbers that the tape no longer holds. The tape's totals tell how many of them
  /// had each fate, but not which ones.
  private func accountFallen(upTo number: UInt64) {
    guard let fallen = epoch.shared.tape.snapshotFallen() else { return }
    let end = min(fallen.end, number)
    guard end > state.nextNumber else { return }
    var unknown = end - state.nextNumber
    var totals = FateCounts()
    for value in fallen.totals.indices {
      let fate = TapeEntry(value: UInt8(value))?.fate(atSource: state.tapsSource)
      if let fate { totals[fate] += fallen.totals[value] }
    }
    for fate in Fate.allCases where totals[fate] > 0 {
      let total = totals[fate]
      let known = state.counts[fate]
      let mine = min(total > known ? total - known : 0, unknown)
      unknown -= mine
      loseNext(mine, fate)
    }
    loseNext(unknown, absentFate(state.nextNumber))
  }

  private func loseNext(_ count: UInt64, _ fate: Fate) {
    if state.isOnDemand, state.recordings?.keepsNothing ?? false {
      // An idle sink may have passed over many.
      state.counts[fate] += count
      state.nextNumber += count
      return
    }
    for _ in 0..<count { loseNext(fate) }
  }

  private func loseNext(_ fate: Fate) {
    let number = state.nextNumber
    state.nextNumber = number + 1
    lose(number, fate)
  }

  /// Accounts for a frame that never was in a slot that this sink could read.
  private func lose(_ number: UInt64, _ fate: Fate, sourceFate: Fate? = nil) {
    state.counts[fate] += 1
    var lost = LostFrame(
      number: number, sequence: epoch.sequence(of: number), epoch: epoch.index, fate: fate,
      sourceFate: sourceFate)
    guard isTold(lost) else { return }
    receiveEvents(upTo: number)
    // Not if it is empty: the assignment would share the memory of `received`, and the next frame
    // would copy it.
    if !state.events.received.isEmpty { lost.events = state.events.received }
    do throws(RunError) {
      try state.sink.account(lost)
    } catch {
      fail(error)
    }
  }

  /// Accounts for a frame that is in a slot and can be read, but is not to be delivered.
  private func lose(
    _ slot: UnsafeMutablePointer<FrameStorage>, _ record: FrameRecord, _ fate: Fate
  ) {
    state.counts[fate] += 1
    var lost = LostFrame(
      number: record.number, sequence: record.sequence, epoch: epoch.index, fate: fate)
    guard isTold(lost) else { return }
    receiveEvents(upTo: record.number)
    if !state.events.received.isEmpty { lost.events = state.events.received }
    do throws(RunError) {
      try unsafe state.sink.account(lost, frame: view(of: slot, now: monotonicNow()))
    } catch {
      fail(error)
    }
  }

  /// Whether the sink is told of a frame that it does not get; counts the frame for the recording under way.
  private func isTold(_ lost: LostFrame) -> Bool {
    guard let recordings = state.recordings else { return !state.hasFailed }
    return recordings.noteLost(lost)
  }

  private func fail(_ error: RunError) {
    if let recordings = state.recordings {
      recordings.fail(error, at: state.nextNumber)
    } else {
      state.fail(error, epoch.shared)
    }
  }

  private func finish() {
    state.recordings?.endAll(at: state.nextNumber)
    do throws(RunError) {
      try state.sink.finish()
    } catch {
      state.fail(error, epoch.shared, isFinishing: true)
    }
    state.hasFinished = true
  }
}
