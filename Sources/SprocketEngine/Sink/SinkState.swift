internal import SprocketCore
internal import Synchronization

/// A sink and its state in a run.
///
/// Unchecked: `sink`, `counts`, `latency`, `events` and `hasFailed` are used by the sink's thread while it
/// has a job, and by the engine before and after.
final class SinkState: @unchecked Sendable {
  let index: Int
  let sink: any Sink
  /// Thread that writes the sink's frames, finishes it and seals it. It exists from before the run's start to
  /// its end.
  let thread: JobThread
  /// `nil` unless it gets only the frames that are asked for.
  let recorder: (any Recorder)?
  let stamped: StampedOutput?
  /// Of an on-demand sink; set before the run.
  var recordings: SinkRecorder?
  var setup: SinkSetup?
  /// Offset of this sink's area in a slot's packed memory.
  var packedOffset = 0
  var counts = FateCounts()
  var latency = DurationHistogram()
  var events = EventReader()
  /// Fate of frames after the sink has failed; `nil` while it works.
  var lossAfterFailure: Fate?
  var hasFailed: Bool { lossAfterFailure != nil }
  var isOnDemand: Bool { recorder != nil }
  var tapsSource: Bool { setup?.tapsSource ?? false }
  /// Whether the sink buffers frames, so that frames it has taken may still be lost. `durableCount` is the
  /// number that cannot be lost.
  let buffers: Bool
  var hasFinished = false
  /// Its thread did not end and still uses `counts`, so others must not read it.
  var isStuck = false
  /// `counts` before `seal`, used if `seal` does not return.
  var sealedCounts: FateCounts?
  /// The record that the sink reads. The sink follows the lane that seals this record.
  var tap = RecordIndex.source
  /// The next running number without a fate.
  var nextNumber: UInt64 = 0

  init(index: Int, sink: any Sink) throws(RunError) {
    self.index = index
    self.sink = sink
    let recorder = (sink as? any Recorder).flatMap { $0.isOnDemand ? $0 : nil }
    self.recorder = recorder
    stamped = recorder == nil ? nil : StampedOutput()
    buffers = sink.durableCount != .max || recorder != nil
    thread = try JobThread(sink.name)
  }

  /// The part of the sink's `replacedCount` that is in `counts`.
  private var replaced: UInt64 = 0

  var traceName: String { "sink \(sink.name)" }

  /// Whether lanes run packers for this sink.
  var packs: Bool { (setup?.packedCapacity ?? 0) > 0 }

  /// Counts frames as `unselected` that the sink has given up for later ones.
  func countReplaced(_ shared: RunShared) {
    let new = sink.replacedCount - replaced
    guard new > 0 else { return }
    replaced += new
    counts[.delivered] -= new
    counts[.unselected] += new
    shared.counters.delivered[index].set(counts[.delivered])
  }

  /// Ends a sink after its error, once. Of the frames that it took, the first `durableCount` stay
  /// `delivered`, and the others become `failed`, or `flushed` if the reader of a pipe left. The run goes on
  /// while another sink that lasts works.
  func fail(_ error: RunError, _ shared: RunShared, isFinishing: Bool = false) {
    guard !hasFailed else { return }
    countReplaced(shared)
    let loss: Fate = error.code == .readerGone ? .flushed : .failed
    lossAfterFailure = loss
    // `.max` means that the sink does not buffer. If it cannot be finished or sealed, no frame is
    // certain to be stored.
    let count = sink.durableCount
    // The files of an on-demand sink have been asked one by one.
    let durable = isFinishing && count == .max && !isOnDemand ? 0 : min(count, counts[.delivered])
    counts[loss] += counts[.delivered] - durable
    counts[.delivered] = durable
    shared.counters.delivered[index].set(durable)
    if error.code == .readerGone {
      shared.notes.withLock { $0.append(error.description) }
    } else {
      shared.fail(error)
    }
    shared.lose(sink)
  }
}
