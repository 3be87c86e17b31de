internal import SprocketCore

/// The state machine of a `RecordingSequence`: returns the next action at each frame. Only the source's
/// thread uses it.
///
/// Keeps of the contract of requests:
/// - A21: a step's recordings begin at the first frame that shows the step's controls, and the next step's
///   controls are written when these recordings have ended. After a failure no further recording begins, and
///   the recordings that have begun are ended. Then the controls are restored. Sequences do not overlap.
///
/// It is a plain value, so that tests can run it with events in any order.
struct SequenceCourse {
  enum Action {
    /// Write these values, then call `wrote`.
    case write([ControlValue])
    /// Begin the recordings of a step. The values are those that the source has set for it. Call `ended` for
    /// a recording that cannot begin.
    case begin(Int, [ControlValue])
    /// End these recordings; those that have not begun must not begin.
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
  /// Whether a step has written controls, so that they have to be restored.
  private var hasWritten = false
  /// Recordings of the step that have begun and not ended; after a failure, those that are to be cancelled.
  private var open: Set<RecordingID> = []
  private(set) var failure: String?
  /// Why the controls are not as before. `nil` if they are, and before the end.
  private(set) var unrestored: String?
  /// Whether the sequence ends without the source's answers to the restored values.
  var isHurried = false

  init(controls: [[ControlValue]], recordings: [[RecordingID]], restored: [ControlValue]) {
    self.controls = controls
    self.recordings = recordings
    toRestore = restored
  }

  /// Returns the action that is due at frame `number`; `nil` if none is. Call it again after each action.
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
      if !batch.isAnswered { unrestored = unrestored ?? "the source does not answer" }
      let reasons = [failure, unrestored.map { "the controls are not restored: \($0)" }]
        .compactMap(\.self)
      return .finish(reasons.isEmpty ? .complete : .failed(reasons.joined(separator: "; ")))
    case .over: return nil
    }
  }

  /// The caller has carried out an action `write`.
  mutating func wrote(_ batch: ShownBatch) {
    if case .restoring = phase {
      (phase, unrestored) = (.restored(batch), nil)
    } else {
      (phase, hasWritten) = (.showing(batch), true)
    }
  }

  /// The source has no room for an action `write`, and there is no time to wait for it.
  mutating func skipRestoring() {
    guard case .restoring = phase else { return }
    (unrestored, phase) = ("too many writes wait for the source", .restored(ShownBatch()))
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
      if let refused = batch.refused {
        unrestored = reason(refused) ?? "the source has refused a control"
      }
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
    case .recording:
      if open.isEmpty, step + 1 == recordings.count { return }
      phase = .cancelling
    // All recordings have ended, or an earlier failure is being handled.
    case .cancelling, .restoring, .restored, .over: return
    }
    failure = sentence
  }

  /// The source was opened again, with another port. Values are restored to the controls of the same names.
  mutating func move(from old: ControlPort, to new: ControlPort?) {
    toRestore = toRestore.compactMap { value in
      new?.control(old.controls[Int(value.control)].name).map { ControlValue($0, value.value) }
    }
    if case .restored = phase { phase = .restoring }
  }
}
