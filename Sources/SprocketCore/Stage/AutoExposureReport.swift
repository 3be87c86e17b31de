/// What the stage `autoexposure` made of a frame.
public struct AutoExposureReport: FrameReport {
  /// What the controller is doing.
  public enum State: String, ReportWords {
    /// Nothing has been measured so far, or what is in force is not known.
    case waiting
    /// On the way to another exposure.
    case adjusting
    case converged
    /// The light asks for more, or less, than the source may give.
    case limited
    /// Nothing is written: mode=locked, or mode=auto that has done its work.
    case locked
    /// The exposure and gain of mode=custom.
    case custom
    /// The picture does not answer to what is written; it rests until the picture changes by itself.
    case unanswered
    /// The source refused a write: nothing more is written.
    case refused
    /// The source came back without the controls: nothing more is written.
    case lost
  }

  /// What the controller is doing at this frame.
  public var state = State.waiting
  /// By how much what was asked for is below the right setting, in EV; NaN where that is not known.
  public var error = Double.nan
  /// The exposure time that was last asked for, in microseconds, as the source can have it; NaN before, and
  /// where the source has no such control.
  public var exposureMicroseconds = Double.nan
  /// The gain that was last asked for, above 0, as the source can have it; 1 is the sensor's base. NaN
  /// before, and where the source has no such control.
  public var gain = Double.nan
  /// Whether this frame was taken with what was last asked for, as far as the source tells. Not in files.
  public var isShown = false
  /// Frames from the latest write that was answered to the frame of the answer; NaN before.
  public var delay = Double.nan
  /// Most frames by which the picture follows the answer, of exposure and gain; 0 where that is not known.
  public var lag: UInt32 = 0
  /// Fewest frames by which it does; the same as `lag` where both are known and alike.
  public var leastLag: UInt32 = 0
  /// How far apart the settings are that this frame may have been taken with, in EV: 0 where it is known
  /// with which. NaN where no setting is known.
  public var unsure = Double.nan
  /// EV of exposure for one EV of the meter's, as learned.
  public var slope = Double.nan
  /// Times that something was asked for in this run.
  public var writes: UInt32 = 0

  public init() {}

  public static var fields: [ReportField<Self>] {
    [
      ReportField("state", \.state),
      ReportField("error", unit: "EV", \.error),
      ReportField("exposure_asked", unit: "us", \.exposureMicroseconds),
      ReportField("gain_asked", unit: "factor", \.gain),
      ReportField("delay", unit: "frames", \.delay),
      ReportField("lag", unit: "frames", \.lag),
      ReportField("lag_least", unit: "frames", \.leastLag),
      ReportField("unsure", unit: "EV", \.unsure),
      ReportField("slope", unit: "EV/EV", \.slope),
      ReportField("writes", unit: "writes", \.writes),
    ]
  }
}
