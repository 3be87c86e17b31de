public import SprocketCore

/// One of the recordings of a sequence: what the source's controls have to be, and what is recorded then.
public struct RecordingStep: Sendable, Hashable {
  /// By the control's name, in the control's own numbers. Written as one batch, in this order: automatics
  /// that decide over another control come first.
  public var controls: [NamedValue]
  /// Requests of the kind `record` with a count of frames, 1 to 16.
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
    /// Recordings that had not ended until then end without a frame. The sentence says why.
    case failed(String)
  }

  struct State {
    var made: [[ControlValue]] = []
    var end: End?
    var isOver = false
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

  /// Whether nothing more is recorded or written. A run that ends first leaves it false; its source then
  /// writes the values to be restored when it closes.
  public var isOver: Bool { state.withLock(\.isOver) }

  /// What the source made of a step's controls, in their order; `nil` if the step was not reached.
  public func controls(ofStep step: Int) -> [ControlValue]? {
    state.withLock { $0.made.indices.contains(step) ? $0.made[step] : nil }
  }
}

/// What a sequence does, in the numbers of the run's sinks and of the source's controls.
struct SequencePlan: Sendable {
  /// Whose controls are written; `nil` for a sequence that writes none.
  let port: ControlPort?
  let controls: [[ControlValue]]
  let changes: [[RequestPort.Step]]
  let restored: [ControlValue]
  let limit: Duration
}
