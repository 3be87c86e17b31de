/// What is known of one frame besides its pixels.
public struct FrameRecord: Sendable, BitwiseCopyable {
  /// Running number among all frames produced in this run, gaps counted, from 0.
  public var number: UInt64 = 0
  /// The source's own number; a camera starts anew with an epoch, a file goes on counting.
  public var sequence: UInt64 = 0
  /// Counts changes of format, replugs and jumps backwards, from 0.
  public var epoch: UInt32 = 0
  /// Nothing before this frame can be compared with it: the first of an epoch.
  public var isDiscontinuity = false
  /// The moment within the frame that `captured` stands for.
  public var capturePoint = CapturePoint.unknown
  /// Whether the frame's packet (`FrameView.packet`) can be decoded without earlier packets. True for frames
  /// without a packet.
  public var isKey = true
  /// When light became this frame, on the source's clock.
  public var captured = Timestamp(nanoseconds: 0, clock: .monotonic)
  /// When the source handed the frame over, in nanoseconds on the monotonic clock.
  public var dequeued: Int64 = 0
  /// When the frame was unpacked, on the same clock; 0 if it was not.
  public var unpacked: Int64 = 0
  /// When the frame was past the last stage, on the same clock; 0 if it was not.
  public var processed: Int64 = 0
  /// Nanoseconds on the monotonic clock when the lane before was done with the frame; for the first lane,
  /// `dequeued`.
  package var sealed: Int64 = 0
  /// The camera settings that the frame was taken with.
  public var inForce = ControlState()
  /// The driver's own flags (`v4l2_buffer.flags`); 0 where there is no driver.
  public var driverFlags: UInt32 = 0
  /// True in a replay if a stage dropped this frame as `late` in the recorded run. A stage that decides by
  /// the clock must drop it again.
  public var wasLate = false
  /// Bytes that the source delivered.
  public var byteCount = 0
  /// Where the log of events ended when the frame was published.
  public var eventEnd: UInt64 = 0
  /// Reports written so far, a bit each.
  public var reported: UInt64 = 0
  /// `delivered` while the chain still wants it.
  public var chainFate = Fate.delivered
  /// Index of the stage that dropped it; meaningful where a stage did.
  public var droppedBy: UInt8 = 0

  public init() {}

  /// False once source or chain decided against it.
  public var isAlive: Bool { chainFate == .delivered }
}

/// The camera settings that a frame was taken with; NaN where the source does not know.
public struct ControlState: Sendable, Hashable, BitwiseCopyable {
  /// How long light was collected.
  public var exposureMicroseconds: Float = .nan
  /// Linear factor, 1 is the sensor's base.
  public var gain: Float = .nan
  /// 0 nearest to 1 furthest.
  public var lensPosition: Float = .nan

  /// Nothing is known.
  public init() {}
}
