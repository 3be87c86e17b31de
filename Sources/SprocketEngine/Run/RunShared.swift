internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// State that all epochs of a run share.
final class RunShared: Sendable {
  let tape = FateTape()
  let events = EventLog()
  let port = RequestPort()
  let bell = NewsBell()
  let hold = FrameHold()
  let changes = ChangePort()
  let settings = SettingJournal()
  let counters = LiveCounters()
  let gauges = StepGauges()
  /// 0 run, 1 stop and drain, 2 flush.
  let stopLevel = Atomic<Int>(0)
  /// Number of running sinks with `lasts`.
  private let lastingSinks: Atomic<Int>
  private let failures = Locked(BoundedSentences<RunError>())
  private let remarks = Locked(BoundedSentences<String>())
  /// Frames that found no room, by the step that was busy then.
  let busy = Locked<[String: UInt64]>([:])
  /// Whether the source failed: recordings then end with the reason `device`.
  let sourceHasFailed = Atomic<Bool>(false)
  /// When the first frame was captured, in nanoseconds on the source's clock; `.min` before it.
  let firstCapture = Atomic<Int64>(.min)
  /// A message for the user while the run continues.
  let notice = Locked<String?>(nil)
  /// `nil` if the run is not traced.
  let trace: Trace?

  /// Number of first frames that are not measured.
  let warmUp: UInt64
  /// The name of the run's source among several.
  let label: String
  let measuresSource: Bool

  init(sinks: [any Sink], options: RunOptions) {
    trace = options.traceLimit.map { Trace(limit: $0) }
    warmUp = options.warmUp
    label = options.label
    measuresSource = options.measuresSource
    lastingSinks = Atomic(sinks.count(where: \.lasts))
  }

  var isStopping: Bool { stopLevel.load(ordering: .acquiring) >= 1 }
  var isFlushing: Bool { stopLevel.load(ordering: .acquiring) >= 2 }

  /// Raises the level; never lowers it.
  func raiseStop(to level: Int) { stopLevel.max(level, ordering: .releasing) }

  /// Records a frame's fate, once per frame.
  func mark(_ number: UInt64, _ entry: TapeEntry) {
    // Fails only if 65,536 later numbers were used meanwhile. The earlier entry was counted then.
    _ = tape.set(number, to: entry.value)
    counters.decided[Int(entry.value)].add()
  }

  /// Called when a sink has ended early. Ends the run if this was the last sink with `lasts`.
  func lose(_ sink: any Sink) {
    guard sink.lasts else { return }
    if lastingSinks.wrappingSubtract(1, ordering: .relaxed).newValue == 0 { raiseStop(to: 1) }
  }

  /// Called when a sink is attached to the run.
  func noteAttached(_ sink: any Sink) {
    if sink.lasts { lastingSinks.wrappingAdd(1, ordering: .relaxed) }
  }

  /// Called when a sink that works is detached. The run goes on, also without any sink.
  func noteDetached(_ sink: any Sink) {
    if sink.lasts { lastingSinks.wrappingSubtract(1, ordering: .relaxed) }
  }

  var hasFailed: Bool { failures.withLock { !$0.isEmpty } }

  var errors: [RunError] {
    failures.withLock { failures in
      failures.all { RunError($0.code, "\($1) more like this one: \($0.description)") }
    }
  }

  /// Remarks that are not errors, for example that a reader closed its pipe.
  var notes: [String] {
    remarks.withLock { remarks in remarks.all { "\($1) more like this one: \($0)" } }
  }

  /// Adds an error, unless an equal one is there: two sinks that write one file fail with the same
  /// text.
  func fail(_ error: RunError) {
    failures.withLock { $0.add(error, error.description) }
  }

  /// Adds the error that a thread of an epoch does not end. `code` is what it runs, if that is known.
  func tellStuck(thread name: String, _ code: RunningCode? = nil) {
    let place = code.flatMap { $0.frame == nil ? nil : " at \($0)" } ?? ""
    fail(
      RunError(
        .failed,
        "the thread `\(name)` did not come to an end in time\(place); look at what it waits for: a disk, a "
          + "device, a reader, or an encoder that needs a faster preset"))
  }

  /// Sentences about frames that found no room, the step that cost the most first.
  var lossNotes: [String] {
    let busy = busy.withLock { $0 }
    return busy.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
      "\($0.value) \($0.value == 1 ? "frame" : "frames") found no room (overrun): \($0.key) was busy"
    }
  }

  /// Adds a remark, unless an equal one is there.
  func note(_ text: String) { remarks.withLock { $0.add(text, text) } }

  /// Adds a sentence about recordings that the run's end cut short: an error, unless the user ended the run.
  func tellShort(_ sentence: String) {
    if isStopping { return note(sentence) }
    fail(RunError(.failed, sentence + "; ask earlier, or let the run be longer"))
  }
}
