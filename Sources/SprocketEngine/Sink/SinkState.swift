internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// A sink and its state in a run.
///
/// Unchecked: `sink`, `counts`, `latency`, `writing`, `events`, `dependence`, `hasRested` and `hasFailed` are
/// used by the sink's thread while it has a job, and by the engine before and after.
final class SinkState: @unchecked Sendable {
  /// Its number in the run, which no other sink gets.
  let id: Int
  let sink: any Sink
  /// The name that its errors begin with: that of the sink whose companion it is, or its own. Both write one
  /// file, and fail by one error.
  let title: String
  /// Thread that writes the sink's frames, finishes it and seals it. It exists from before the run's start
  /// to its end.
  let thread: JobThread
  /// `nil` unless it gets only the frames that are asked for.
  let recorder: (any Recorder)?
  let stamped: StampedOutput?
  /// `nil` if it needs each frame.
  let resting: (any RestingSink)?
  let wakes = WakeCalls()
  /// True from the beginning of a rest to the next frame that the sink takes. Frames that it does not get
  /// meanwhile are `unselected`.
  var hasRested = false
  /// Of an on-demand sink; set before the run.
  var recordings: SinkRecorder?
  var counts = FateCounts()
  /// `counts[.delivered]`, for any thread.
  let delivered = LiveCounters.Cell()
  /// The first frame that was produced with this sink; 0 for a sink of the run's start. Set before its
  /// thread gets a frame, as `decidedBefore`.
  private(set) var firstNumber: UInt64 = 0
  /// `LiveCounters.decided` of the frames before; empty for a sink of the run's start.
  private(set) var decidedBefore: [UInt64] = []
  var latency = DurationHistogram()
  /// Time that it spent on a frame.
  var writing = StageTimers.Line(name: "")
  var events = EventReader()
  let gauge = SinkGauge()
  var dependence = FrameDependence()
  /// Fate of frames after the sink has failed; `nil` while it works.
  var lossAfterFailure: Fate?
  var hasFailed: Bool { lossAfterFailure != nil }
  var isOnDemand: Bool { recorder != nil }
  /// Whether its tap of the ring may park.
  var parks: Bool { isOnDemand || resting != nil }
  /// Whether the sink buffers frames, so that frames it has taken may still be lost. `durableCount` is the
  /// number that cannot be lost.
  let buffers: Bool
  var hasFinished = false
  /// Whether the sink is among those that keep the run going. The sink's thread takes it out when it fails,
  /// the run's when it leaves.
  private let isCounted = Atomic<Bool>(true)
  /// A detached sink is finished and sealed.
  let isDone = Atomic<Bool>(false)
  /// Its thread did not end and still uses `counts`, so others must not read it.
  var isStuck = false
  /// `counts` before `seal`, used if `seal` does not return.
  var sealedCounts: FateCounts?
  /// The next running number without a fate.
  var nextNumber: UInt64 = 0

  /// `others`: sinks of which it may be a companion.
  init(id: Int, sink: any Sink, among others: [any Sink]) throws(RunError) {
    self.id = id
    self.sink = sink
    title = others.first { $0.companions.contains { $0 === sink } }?.name ?? sink.name
    let recorder = (sink as? any Recorder).flatMap { $0.isOnDemand ? $0 : nil }
    self.recorder = recorder
    stamped = recorder == nil ? nil : StampedOutput()
    resting = sink as? any RestingSink
    buffers = sink.durableCount != .max || recorder != nil
    thread = try JobThread(sink.name)
  }

  /// The part of the sink's `replacedCount` that is in `counts`.
  private var replaced: UInt64 = 0

  /// Makes what an on-demand sink needs to record, and the run's finisher if there is none yet.
  func makeRecordings(
    _ list: RecordingList, _ shared: RunShared, _ finishing: borrowing Locked<Finisher?>
  ) throws(RunError) {
    guard let recorder, let stamped else { return }
    let known = finishing.withLock { $0 }
    let finisher = if let known { known } else { try Finisher(list, shared) }
    finishing.withLock { $0 = finisher }
    recordings = try SinkRecorder(
      self, recorder, stamped, list: list, finisher: finisher, shared: shared)
  }

  /// Ends recordings and completes what was written. On the sink's thread.
  func finish(_ shared: RunShared, _ reason: RecordingEnd? = nil) {
    recordings?.endAll(at: nextNumber, reason)
    do throws(RunError) {
      try sink.finish()
    } catch {
      fail(error, shared, isFinishing: true)
    }
    hasFinished = true
  }

  var traceName: String { "sink \(sink.name)" }

  /// Lets the sink's account begin with frame `number`. All earlier ones have their fate, `decided` by
  /// value.
  func attach(at number: UInt64, decided: [UInt64], _ events: EventLog) {
    firstNumber = number
    nextNumber = number
    decidedBefore = decided
    self.events.skip(events, below: .max)
  }

  /// Number of frames that source or chain gave the fate `value` while the sink was attached, of `total` in
  /// the whole run.
  func decided(_ value: Int, of total: UInt64) -> UInt64 {
    value < decidedBefore.count ? total - min(total, decidedBefore[value]) : total
  }

  /// Frames that were written and then lost with their file become `failed`. All its files are complete.
  func takeLost(_ list: RecordingList) {
    guard isOnDemand else { return }
    let lost = min(list.takeLost(sink: id), counts[.delivered])
    counts[.delivered] -= lost
    counts[.failed] += lost
    delivered.set(counts[.delivered])
  }

  /// Gives the sink the account of the frames that were produced while it was attached: its own, and those
  /// of the sinks that were attached for the same frames. On the sink's thread.
  func seal(_ entries: [Ledger.Entry], _ frames: Range<UInt64>, _ shared: RunShared) {
    let same = entries.filter { $0.frames == nil ? frames.lowerBound == 0 : $0.frames == frames }
    let ledger = Ledger(
      produced: frames.upperBound - frames.lowerBound,
      entries: same.map { Ledger.Entry(sink: $0.sink, counts: $0.counts) })
    do throws(RunError) {
      try RunningCode(["sink `\(sink.name)`"], of: shared.label).during { () throws(RunError) in
        try sink.seal(ledger)
      }
    } catch {
      fail(error, shared, isFinishing: true)
    }
  }

  /// Counts frames as `unselected` that the sink has given up for later ones.
  func countReplaced() {
    let new = sink.replacedCount - replaced
    guard new > 0 else { return }
    replaced += new
    counts[.delivered] -= new
    counts[.unselected] += new
    delivered.set(counts[.delivered])
  }

  /// Takes the sink out of those that keep the run going, once. `endsRun`: the run ends if it was the last.
  func leave(_ shared: RunShared, endsRun: Bool) {
    guard isCounted.exchange(false, ordering: .relaxed) else { return }
    endsRun ? shared.lose(sink) : shared.noteDetached(sink)
  }

  /// Ends a sink after its error, once. Of the frames that it took, the first `durableCount` stay
  /// `delivered`, and the others become `failed`, or `flushed` if the reader of a pipe left. The run goes
  /// on while another sink that lasts works.
  func fail(_ error: RunError, _ shared: RunShared, isFinishing: Bool = false) {
    guard !hasFailed else { return }
    countReplaced()
    let loss: Fate = error.code == .readerGone ? .flushed : .failed
    lossAfterFailure = loss
    // `.max` means that the sink does not buffer. If it cannot be finished or sealed, no frame is
    // certain to be stored.
    let count = sink.durableCount
    // The files of an on-demand sink have been asked one by one.
    let durable = isFinishing && count == .max && !isOnDemand ? 0 : min(count, counts[.delivered])
    counts[loss] += counts[.delivered] - durable
    counts[.delivered] = durable
    self.delivered.set(durable)
    if error.code == .readerGone {
      shared.note(error.description)
    } else {
      shared.fail(RunError(error, of: title))
    }
    leave(shared, endsRun: true)
  }
}
