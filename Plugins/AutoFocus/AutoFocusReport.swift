public import SprocketCore

extension AutoFocus {
  /// What the controller made of a frame.
  public struct Report: FrameReport {
    /// What the controller is doing.
    public enum State: String, ReportWords {
      /// Nothing was decided so far.
      case waiting
      /// Looks for the sharpest position, in large steps.
      case coarse
      /// Looks for the sharpest position, in small steps.
      case fine
      /// On the way to what was found, or was asked for.
      case settling
      /// There, and watching the scene.
      case focused
      /// Nothing stands out; watching the scene.
      case resting
      /// The lens stays: mode=locked, or mode=auto or mode=custom that has done its work.
      case locked
      /// The lens does not move.
      case failed
    }

    /// What the controller is doing at this frame.
    public var state = State.waiting
    /// Where the lens was sent last, 0 nearest to 1 furthest; NaN before that.
    public var position = Double.nan
    /// Whether the source has answered the latest write. Not in files.
    public var isShown = false
    /// The highest score of the latest search, in the unit of `FocusReport.score`; 0 before that.
    public var best = 0.0
    /// Number of positions that the latest search has looked at.
    public var looks: UInt32 = 0
    /// Number of searches that were begun in this run.
    public var searches: UInt32 = 0

    /// Most frames by which the picture follows the answer to a write; 0 where that is not known.
    public var lag: UInt32 = 0
    /// Fewest frames by which it does.
    public var leastLag: UInt32 = 0
    /// Whether the lag is known: told by the source, given, or measured in the picture.
    public var isLagKnown = false

    public init() {}

    init(_ control: FocusControl) {
      state = control.state
      position = control.travel.position ?? .nan
      best = control.search.bestScore
      looks = UInt32(control.search.looks.count)
      searches = UInt32(clamping: control.searches)
      isLagKnown = control.lag.frames != nil
      lag = UInt32(clamping: control.lag.frames?.upperBound ?? 0)
      leastLag = UInt32(clamping: control.lag.frames?.lowerBound ?? 0)
    }

    public static var fields: [ReportField<Self>] {
      [
        ReportField("state", \.state),
        ReportField("position", unit: "0 nearest to 1 furthest", \.position),
        ReportField("best", \.best),
        ReportField("looks", unit: "positions", \.looks),
        ReportField("searches", \.searches),
        ReportField("lag", unit: "frames", \.lag),
        ReportField("lag_least", unit: "frames", \.leastLag),
        ReportField("lag_known", \.isLagKnown),
      ]
    }
  }
}
