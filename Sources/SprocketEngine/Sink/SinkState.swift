internal import SprocketCore
internal import Synchronization

/// A sink in a run.
///
/// Unchecked: `sink`, `counts`, `latency`, `events` and `hasFailed` belong to the sink's thread while that
/// has a job, and to the engine before and after.
final class SinkState: @unchecked Sendable {
  let index: Int
  let sink: any Sink
  /// Takes its frames, finishes and seals it: from before the run's start to its end.
  let thread: JobThread
  var setup: SinkSetup?
  /// Offset of this sink's area in a slot's packed memory.
  var packedOffset = 0
  var counts = FateCounts()
  var latency = DurationHistogram()
  var events = EventReader()
  /// What becomes of frames after the sink has failed; `nil` while it works.
  var lossAfterFailure: Fate?
  var hasFailed: Bool { lossAfterFailure != nil }
  var tapsSource: Bool { setup?.tapsSource ?? false }
  /// The sink buffers, so frames that it has taken may still be lost. `durableCount` tells how many
  /// cannot.
  let buffers: Bool
  var hasFinished = false
  /// Its thread did not end and still owns `counts`, which must not be read.
  var isStuck = false
  /// `counts` before `seal`, used if `seal` does not return.
  var sealedCounts: FateCounts?
  /// The record that it reads; it follows the cursor of the lane whose that is.
  var tap = RecordIndex.source
  /// The next running number that has no fate yet.
  var nextNumber: UInt64 = 0

  init(index: Int, sink: any Sink) throws(RunError) {
    self.index = index
    self.sink = sink
    buffers = sink.durableCount != .max
    thread = try JobThread(sink.name)
  }

  var traceName: String { "sink \(sink.name)" }

  /// It has packers for the lanes to use.
  var packs: Bool { (setup?.packedCapacity ?? 0) > 0 }

  /// Ends a sink after its error, once. Of the frames that it took, the first `durableCount` stay
  /// `delivered`, and the others become `failed`, or `flushed` if the reader of a pipe left. The run goes on
  /// while another sink that lasts works.
  func fail(_ error: RunError, _ shared: RunShared, isFinishing: Bool = false) {
    guard !hasFailed else { return }
    let loss: Fate = error.code == .readerGone ? .flushed : .failed
    lossAfterFailure = loss
    // `.max` means that the sink does not buffer. If it cannot be finished or sealed, no frame is
    // certain to be stored.
    let count = sink.durableCount
    let durable = isFinishing && count == .max ? 0 : min(count, counts[.delivered])
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
