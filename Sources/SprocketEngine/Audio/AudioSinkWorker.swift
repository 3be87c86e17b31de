internal import SprocketCore
internal import Synchronization

/// The thread of an audio sink.
///
/// Unchecked: the sink is used by its thread alone between `start` and `wait`.
final class AudioSinkWorker: @unchecked Sendable {
  private let sink: any AudioSink
  private let tap: AudioRingTap
  private let shared: AudioShared
  private let thread: JobThread

  init(_ sink: any AudioSink, _ tap: AudioRingTap, _ shared: AudioShared) throws(RunError) {
    (self.sink, self.tap, self.shared) = (sink, tap, shared)
    thread = try JobThread(sink.name)
  }

  func start() {
    thread.perform { self.run() }
  }

  var name: String { sink.name }

  /// The sink gets no sample from that one on, and ends. From any thread.
  func leave(at sample: UInt64) { tap.leave(at: sample) }

  /// Waits for the sink's end. False if it has not come by then.
  func wait(until deadline: Int64) -> Bool { thread.wait(until: deadline) }

  private func run() {
    RunningCode(["sink `\(sink.name)`"]).during {
      do throws(RunError) {
        try sink.run(tap)
      } catch {
        if error.code != .readerGone { shared.fail(RunError(error, of: sink.name)) }
        tap.fail()
      }
    }
    tap.close()
    shared.notes.withLock { $0 = $0 + sink.notes }
  }
}
