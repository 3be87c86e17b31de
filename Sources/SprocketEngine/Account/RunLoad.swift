public import SprocketCore

/// What lanes and sinks have to do while a run goes on. All times and counts are sums since the run's start,
/// over all epochs, so that the difference of two values tells about the time between them.
public struct RunLoad: Sendable {
  /// A step of a lane: unpacking, a stage, packing.
  public struct Step: Sendable, Hashable {
    public var name: String
    /// Time in the step, over all workers.
    public var work = Duration.zero
    /// Time for which frames waited until a worker took them: from the end of the lane before, or from the
    /// frame's arrival. It includes the wait for look-ahead and for earlier frames. Of a lane's first step;
    /// zero for others, which follow at once.
    public var wait = Duration.zero
    /// Number of frames in the step.
    public var frames: UInt64 = 0
    /// CPU time of `cpuFrames` frames: it is measured in one frame of seven.
    public var cpu = Duration.zero
    public var cpuFrames: UInt64 = 0
    /// Number of frames that were dropped in this step.
    public var late: UInt64 = 0
    public var rejected: UInt64 = 0
    public var corrupt: UInt64 = 0
  }

  /// Threads that take each frame through the same steps.
  public struct Lane: Sendable, Hashable {
    public var steps: [Step]
    public var workers: Int
    /// Number of arrived frames that have not passed the lane.
    public var behind: UInt64
  }

  /// The thread of a sink.
  public struct Sink: Sendable, Hashable {
    public var name: String
    /// Time in which the sink wrote frames.
    public var work: Duration
    /// Time for which frames waited until the sink took them, as of a lane.
    public var wait: Duration
    /// Number of frames that were written as they came; frames of a pre-roll are not counted.
    public var frames: UInt64
    /// Number of arrived frames that the sink has not taken or passed over; 0 while an on-demand sink sleeps.
    public var behind: UInt64
  }

  /// How full the ring is.
  public struct Ring: Sendable, Hashable {
    /// Number of positions.
    public var depth: Int
    /// Number of frames that a lane or a gating sink has not passed.
    public var used: Int
    /// Number of frames that may arrive before the source drops frames, or waits.
    public var free: Int
  }

  public var lanes: [Lane]
  public var sinks: [Sink]
  public var ring: Ring
  /// Frames that source and chain lost, by fate.
  public var lost: FateCounts
}
