/// What the stage `bracket` says of a frame. Stills read it to name and to tag the frames of a bracket.
public struct BracketReport: FrameReport {
  /// How far the bracket is.
  public enum State: String, ReportWords {
    /// Waits for the stage `autoexposure` to end its work.
    case waiting
    /// Waits for a steady picture.
    case settling
    /// Measures the delay and the tone curve by a change of its own.
    case probing
    /// Takes the steps.
    case stepping
    /// Puts the controls back.
    case restoring
    /// Every step was taken.
    case complete
    /// Not every step was taken; the run's error says why.
    case failed
  }

  /// What shows that a frame is that of its step.
  public enum Proof: String, ReportWords {
    /// Nothing: the frame is no step's, or the picture is too bright or too dark to tell.
    case none
    /// The answer of the source, and the control's delay.
    case answer
    /// These, and the picture.
    case picture
  }

  /// How far the bracket is at this frame.
  public var state = State.waiting
  /// The step that this frame was chosen for, from 1; 0 for all other frames.
  public var step: UInt32 = 0
  /// Number of steps, 1 or more.
  public var steps: UInt32 = 0
  /// Of a chosen frame, in EV: by how much more it was to be exposed than before the bracket. NaN for a step
  /// of another control.
  public var asked = Double.nan
  /// By how much more it was exposed, in EV, as the picture shows it; NaN where that is not known.
  public var measured = Double.nan
  /// Of a chosen frame of a lens or another control: its value, in the unit of the step. NaN for exposures.
  public var value = Double.nan
  /// What shows that a chosen frame is that of its step.
  public var verified = Proof.none
  /// Whether it is sure that a chosen frame is that of its step: the picture shows it, or the frame comes
  /// after the longest delay that was measured or told.
  public var isCertain = false
  /// Whether the bracket is over: complete or failed.
  public var isOver = false

  public init() {}

  public static var fields: [ReportField<Self>] {
    [
      ReportField("state", \.state),
      ReportField("step", \.step),
      ReportField("steps", unit: "steps", \.steps),
      ReportField("asked", unit: "EV", \.asked),
      ReportField("measured", unit: "EV", \.measured),
      ReportField("value", \.value),
      ReportField("verified", \.verified),
      ReportField("over", \.isOver),
      ReportField("certain", \.isCertain),
    ]
  }
}
