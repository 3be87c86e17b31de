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
/// - A8 of the contract of requests: a frame that was not admitted to an on-demand sink is `unselected`,
///   unless source or chain lost it. `failed` and `flushed` apply to admitted frames alone.
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

  let epoch: Epoch
  let place: SinkPlace
  var state: SinkState { place.state }
  private let wait: WaitStrategy
  let drainLimit: Int64
  private let code: RunningCode
  /// Number of positions of the epoch that had passed the chain when a resting sink was last told.
  var passed: UInt64 = 0
  private let trace: (thread: TraceThread, step: UInt16)?

  init(epoch: Epoch, place: SinkPlace, options: RunOptions) {
    self.epoch = epoch
    self.place = place
    let state = place.state
    wait = options.wait
    drainLimit = options.drainLimit.nanosecondCount
    code = RunningCode(["sink `\(state.sink.name)`"], of: epoch.shared.label)
    trace = epoch.shared.trace.map { ($0.thread(state.traceName), $0.step(state.traceName)) }
  }

  func run() {
    trace?.thread.begin()
    defer { trace?.thread.end() }
    code.during {
      var reader = epoch.ring.makeReader(tap: tapIndex)
      var waiter = Waiter(wait)
      if state.resting != nil { epoch.shared.bell.add(state.id, epoch.ring, tapIndex) }
      state.dependence.begin(place.setup, epoch.source.keyFrames)
      state.recordings?.beginEpoch(at: state.nextNumber, isContinuous: epoch.isContinuous)
      loop: while true {
        switch reader.next() {
        case .frame(_, let slot):
          waiter.reset()
          unsafe take(epoch.memory.slots + slot)
          reader.release()
          state.gauge.show(state.counts)
        case .lapped, .skipped:
          break
        case .wait:
          if epoch.isAbandoned.load(ordering: .acquiring) { break loop }
          if state.isOnDemand, isParked(&reader) {
            let ticket = reader.prepareToWait()
            // Checked after the ticket was taken: `isAbandoned` is set before all threads are woken, so a
            // later change ends the wait.
            if epoch.isAbandoned.load(ordering: .acquiring) { break loop }
            waiter.parkIdle(ticket)
          } else if rest(&reader, &waiter) {
            break
          } else if !waiter.spinsOn() {
            waiter.park(reader.prepareToWait())
            idle()
          }
        case .end:
          break loop
        }
      }
      epoch.shared.bell.remove(state.id)
      account(upTo: epoch.endNumber.load(ordering: .acquiring))
      state.gauge.show(state.counts)
      state.recordings?.endEpoch()
      if epoch.isLast.load(ordering: .acquiring) { state.finish(epoch.shared) }
    }
  }

  /// Does what `run` does at the end of the last epoch, if that epoch could not be made.
  func conclude(upTo number: UInt64) {
    code.during {
      account(upTo: number, epoch: .max)
      state.finish(epoch.shared)
    }
  }

  var tapIndex: RingPlan.TapIndex { RingPlan.TapIndex(place.index) }

  /// A sink may have other work while no frame comes.
  private func idle() {
    guard epoch.source.isLive || state.sink.idlesOffline, state.lossAfterFailure == nil else {
      return
    }
    do throws(RunError) { try state.sink.idle() } catch { fail(error) }
  }

  private func take(_ slot: UnsafeMutablePointer<FrameStorage>) {
    let record = unsafe slot.pointee.records[place.tap]
    state.recordings?.upcoming = record
    account(upTo: record.number)
    endRest(at: record.number)
    state.nextNumber = record.number + 1
    let packed = unsafe slot.pointee.packedCounts[place.index]
    if !record.isAlive, !place.tapsSource {
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
    } else if !state.dependence.admits(record) {
      unsafe lose(slot, record, .unselected)
    } else {
      unsafe deliver(slot, record, packed: packed)
    }
  }

  private func deliver(
    _ slot: UnsafeMutablePointer<FrameStorage>, _ record: FrameRecord, packed: Int
  ) {
    receiveEvents(upTo: record.number)
    let isMeasured = record.number >= epoch.shared.warmUp
    let isSampled = isMeasured && CPUSample.samples(record.number - epoch.shared.warmUp)
    let used = isSampled ? threadCPUTime() : 0
    let began = monotonicNow()
    let frame = unsafe PackedFrame(
      view: view(of: slot, now: began), bytes: slot.pointee.packed + place.packedOffset,
      count: packed)
    do throws(RunError) {
      try state.sink.write(frame)
      state.counts[.delivered] += 1
      state.recordings?.noteWritten(record)
      state.delivered.add()
      state.countReplaced()
      if state.sink.isComplete { state.leave(epoch.shared, endsRun: true) }
      let written = monotonicNow()
      state.gauge.add(work: written - began, wait: began - record.sealed)
      if isMeasured { state.writing.histogram.record(written - began) }
      if isSampled { _ = state.writing.processor.record(since: used) }
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
    // A later request may choose it.
    _ = state.recordings?.keep(frame, isCounted: true)
  }

  /// Keeps the frame for a recording that may begin later; the frame gets its fate then. Returns false if
  /// it is not kept.
  private func holds(_ slot: UnsafeMutablePointer<FrameStorage>, packed: Int) -> Bool {
    let frame = unsafe PackedFrame(
      view: view(of: slot, now: monotonicNow()), bytes: slot.pointee.packed + place.packedOffset,
      count: packed)
    guard let recordings = state.recordings, recordings.holds(frame) else { return false }
    recordings.noteHeld()
    return true
  }

  func view(of slot: UnsafeMutablePointer<FrameStorage>, now: Int64) -> FrameView {
    var access = epoch.plan.sinkAccess
    access.lane = place.tap
    access.origin = epoch.origin
    access.parts = place.setup?.parts ?? []
    return unsafe FrameView(
      unsafeStorage: slot, access: access, now: now, neighbours: .none,
      events: state.events.received, reports: epoch.facts.reports)
  }

  /// Reads the events up to that frame that follow the frame last written or accounted for.
  func receiveEvents(upTo number: UInt64) {
    code.enter(0, frame: number)
    let log = epoch.shared.events
    let missed = state.events.receive(log, below: log.end, upTo: number)
    if missed > 0 { epoch.shared.counters.droppedEvents.add(missed) }
  }

  func fail(_ error: RunError) {
    if let recordings = state.recordings {
      recordings.fail(error, at: state.nextNumber)
    } else {
      state.fail(error, epoch.shared)
    }
  }
}
