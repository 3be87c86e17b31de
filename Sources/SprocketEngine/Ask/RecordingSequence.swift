public import SprocketCore

/// One step of a sequence: values for the source's controls, and the recordings that begin with them.
public struct RecordingStep: Sendable, Hashable {
  /// Values in the controls' own units. The engine writes them as one batch, in this order. A control that
  /// switches another one to manual has to come before it.
  public var controls: [NamedValue]
  /// Requests of the kind `record` with a count of frames: 1 to 16 requests.
  public var requests: [Request]

  public init(_ controls: [NamedValue], _ requests: [Request]) {
    self.controls = controls
    self.requests = requests
  }

  /// A value of the control of that name.
  public struct NamedValue: Sendable, Hashable {
    public var name: String
    public var value: Double

    public init(_ name: String, _ value: Double) {
      self.name = name
      self.value = value
    }
  }
}

/// Recordings one after the other, each with settings of the source's controls: a bracket of exposures, for
/// example. Made by `Engine.ask(_:restoring:within:)`.
public final class RecordingSequence: Sendable {
  /// How a sequence has ended.
  public enum End: Sendable, Hashable {
    /// All recordings have ended, and the controls are as before.
    case complete
    /// Recordings that had not begun are cancelled, or the controls are not as before. The sentence says why.
    case failed(String)
  }

  struct State {
    var made: [[ControlValue]] = []
    var end: End?
    var isOver = false
    var isStopped = false
  }

  /// The recordings of each step.
  public let recordings: [[RecordingID]]
  let plan: SequencePlan
  let state = Locked(State())

  init(_ recordings: [[RecordingID]], _ plan: SequencePlan) {
    self.recordings = recordings
    self.plan = plan
  }

  /// How it ended; `nil` before, and if the run has ended first. It may be known before `isOver`.
  public var end: End? { state.withLock(\.end) }

  /// Stops the sequence: no further recording begins, and the controls are restored.
  public func stop() { state.withLock { $0.isStopped = true } }

  /// Whether the sequence has ended and its controls are restored, as far as the source does it. It stays
  /// false if the run ends first: then the source restores the controls when it closes.
  public var isOver: Bool { state.withLock(\.isOver) }

  /// What the source made of a step's controls, in their order; `nil` if the step was not reached.
  public func controls(ofStep step: Int) -> [ControlValue]? {
    state.withLock { $0.made.indices.contains(step) ? $0.made[step] : nil }
  }
}

/// The writes and recordings of a sequence. Sinks and controls are named by their numbers in the run.
struct SequencePlan: Sendable {
  /// Takes the writes of the steps. `nil` if the source has no controls.
  let port: ControlPort?
  let controls: [[ControlValue]]
  let changes: [[RequestPort.Step]]
  let restored: [ControlValue]
  let limit: Duration
}
