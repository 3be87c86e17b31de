public import SprocketCore

/// A request to a running engine (`Engine.ask`).
public enum Request: Sendable, Hashable {
  /// Starts a recording of the on-demand sink of that name. `path` is the file's name, `nil` for the sink's
  /// own. With `frames`, the recording ends after so many written frames; frames that are lost do not
  /// count. Without, it ends when it is stopped.
  case record(sink: String, path: String? = nil, frames: UInt64? = nil)
  /// Records one frame, which is chosen by its time. The frame is a recording of its own, and another
  /// recording may be under way. The sink needs a pre-roll with the use `choices`. If the frame is no longer
  /// kept, the record has an error.
  case choose(sink: String, path: String? = nil, FrameChoice)
  /// Continues a recording in its next file: earlier frames are in the old file, later ones in the new.
  case next(RecordingID, path: String? = nil)
  /// Leaves out frames of a recording from here on, and the time until it is resumed: a movie goes on without
  /// a gap. Does nothing where the recording is paused. A recording that counts its frames cannot be paused.
  case pause(RecordingID)
  /// Goes on with a recording that is paused; one of packets goes on with the next key frame.
  case resume(RecordingID)
  /// Ends a recording.
  case stop(RecordingID)
}

/// Which frame is meant: by a rule, of the time that lies `ago` before the moment of the request.
///
/// That moment is the time of `Moment.captured`, or when the frame was captured from which the request holds.
public struct FrameChoice: Sendable, Hashable {
  /// Which frame beside the time is meant.
  public enum Rule: String, Sendable, Hashable, CaseIterable {
    /// The frame captured nearest to the time; of two the earlier one.
    case nearest
    /// The first frame captured at that time or after it.
    case atOrAfter = "after"
    /// The last frame captured at that time or before it.
    case atOrBefore = "before"
  }

  public let rule: Rule
  public let ago: Duration

  /// An `ago` below 0 counts as 0.
  public init(_ rule: Rule, ago: Duration = .zero) {
    (self.rule, self.ago) = (rule, max(.zero, ago))
  }
}

/// The first frame for which a request holds.
public enum Moment: Sendable, Hashable {
  /// The next frame that arrives.
  case now
  /// The frame of that running number; the next frame that arrives if that number is past.
  case frame(UInt64)
  /// The first frame captured so long after the run's first.
  case time(Duration)
  /// The first frame captured at or after that time; the next frame that arrives if the source's clock is
  /// another one.
  case captured(Timestamp)
}
