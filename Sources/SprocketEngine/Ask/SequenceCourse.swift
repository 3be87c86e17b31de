internal import SprocketCore

/// Decides what is to be done next for a `RecordingSequence`. The source's thread alone uses it.
///
/// Keeps of the contract of requests:
/// - A21: a step's recordings begin at the first frame that shows the step's controls, and the next step's
///   controls are written when these recordings have ended. After a failure no further recording begins, and
///   what was begun ends. Then the controls are restored. Sequences of a run do not overlap.
///
/// A plain value, so that a test can try each order of events.
struct SequenceCourse {
  enum Action {
    /// To be answered by `wrote`.
    case write([ControlValue])
    /// Begin the recordings of that step, for which the source has made these values. Those that cannot begin
    /// are to be reported by `ended`.
    case begin(Int, [ControlValue])
    /// End these recordings, or see that they do not begin.
    case cancel(Set<RecordingID>)
    case finish(RecordingSequence.End)
  }

  private enum Phase {
    case writing
    case showing(ShownBatch)
    case recording, cancelling, restoring
    case restored(ShownBatch)
    case over
  }

  private let controls: [[ControlValue]]
  private let recordings: [[RecordingID]]
  private var toRestore: [ControlValue]
  private var step = 0
  private var phase = Phase.writing
  /// Whether controls may be other than before.
  private var hasWritten = false
  /// Recordings of the step that have begun and not ended; after a failure, those that are to be cancelled.
  private var open: Set<RecordingID> = []
  private(set) var failure: String?
  /// Whether the source's answer to the values that are restored is not waited for.
  var isHurried = false

  init(controls: [[ControlValue]], recordings: [[RecordingID]], restored: [ControlValue]) {
    self.controls = controls
    self.recordings = recordings
    toRestore = restored
  }

  /// What to do before frame `number`; `nil` if that has to wait for a later one. Ask again after each
  /// action.
  mutating func next(at number: UInt64) -> Action? {
    switch phase {
    case .writing:
      guard step < controls.count else {
        phase = .restoring
        return next(at: number)
      }
      return .write(controls[step])
    case .showing(let batch):
      guard batch.isShown(at: number) else { return nil }
      (phase, open) = (.recording, Set(recordings[step]))
      return .begin(step, batch.values)
    case .recording:
      guard open.isEmpty else { return nil }
      step += 1
      phase = .writing
      return next(at: number)
    case .cancelling:
      guard step < recordings.count else {
        phase = .restoring
        return next(at: number)
      }
      let ids = open
      step += 1
      open = step < recordings.count ? Set(recordings[step]) : []
      return .cancel(ids)
    case .restoring: return .write(hasWritten ? toRestore : [])
    case .restored(let batch):
      guard batch.isAnswered || isHurried else { return nil }
      phase = .over
      return .finish(failure.map { .failed($0) } ?? .complete)
    case .over: return nil
    }
  }

  /// The values of an action `write` were written.
  mutating func wrote(_ batch: ShownBatch) {
    if case .restoring = phase {
      phase = .restored(batch)
    } else {
      (phase, hasWritten) = (.showing(batch), true)
    }
  }

  /// Takes an event of the source. `reason` tells why it refused the write of a ticket.
  mutating func take(_ event: Event, reason: (UInt64) -> String?) {
    switch phase {
    case .showing(var batch):
      guard batch.take(event) else { return }
      phase = .showing(batch)
      if let refused = batch.refused {
        fail(reason(refused) ?? "the source has refused a control of step \(step + 1)")
      }
    case .restored(var batch):
      batch.take(event)
      phase = .restored(batch)
    default: break
    }
  }

  mutating func ended(_ recording: RecordingID) { open.remove(recording) }

  /// Begins no further recording, and restores the controls.
  mutating func fail(_ sentence: String) {
    switch phase {
    case .writing, .showing:
      open = step < recordings.count ? Set(recordings[step]) : []
      phase = .cancelling
    case .recording: phase = .cancelling
    // All was recorded, or it has failed before.
    case .cancelling, .restoring, .restored, .over: return
    }
    failure = sentence
  }

  /// The source was opened anew: values are restored by controls of the same names.
  mutating func move(from old: ControlPort, to new: ControlPort?) {
    toRestore = toRestore.compactMap { value in
      new?.control(old.controls[Int(value.control)].name).map { ControlValue($0, value.value) }
    }
    if case .restored = phase { phase = .restoring }
  }
}
