internal import Sprocket

/// A frame that an output did not get.
public struct DroppedFrame: Sendable, Hashable {
  /// Why an output did not get a frame.
  public enum Reason: Sendable, Hashable {
    /// It came while the callback was busy, or a stage dropped it because it was late.
    case late
    /// There was no memory for it, because frames are taken too slowly.
    case outOfBuffers
    /// The camera skipped it, or lost it.
    case missing
    /// It was damaged.
    case corrupt
    /// A stage dropped it for its content: no motion, for example.
    case rejected
    /// It was under way when the session changed or stopped.
    case discontinuity
  }

  /// Running number among all frames of the run.
  public let number: UInt64
  public let reason: Reason

  init(number: UInt64, reason: Reason) { (self.number, self.reason) = (number, reason) }

  /// `nil` for a frame that was not to be delivered.
  init?(_ lost: LostFrame) {
    number = lost.number
    switch lost.fate {
    case .skipped, .late: reason = .late
    case .behind, .overrun: reason = .outOfBuffers
    case .missing: reason = .missing
    case .corrupt: reason = .corrupt
    case .rejected: reason = .rejected
    case .flushed, .failed: reason = .discontinuity
    case .delivered, .startup, .unselected: return nil
    }
  }
}
