public import SprocketCore

/// A request to a running engine (`Engine.ask`).
public enum Request: Sendable, Hashable {
  /// Starts a recording of the on-demand sink of that name. `path` is the file's name, `nil` for the sink's
  /// own. With `frames`, the recording ends after so many written frames; frames that are lost do not
  /// count. Without, it ends when it is stopped.
  case record(sink: String, path: String? = nil, frames: UInt64? = nil)
  /// Continues a recording in its next file: earlier frames are in the old file, later ones in the new.
  case next(RecordingID, path: String? = nil)
  /// Ends a recording.
  case stop(RecordingID)
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
