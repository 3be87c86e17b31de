/// A source, a sink or a run cannot do what was asked, or failed.
public struct RunError: Error, Sendable, CustomStringConvertible {
  public enum Code: Sendable {
    /// The request is wrong: a missing file, a format that is not offered, a path that cannot be written.
    case usage
    /// It worked and then did not: a full disk, a camera that was unplugged.
    case failed
    /// Of a source: `interrupt` was called, and nothing is wrong.
    case interrupted
    /// Of a sink: its reader went away. It ends without an error.
    case readerGone
  }

  public let code: Code
  /// One sentence: what is wrong, and what can be done.
  public let description: String
  /// What to change, for those who write down a run as options.
  public let remedies: [Remedy]
  /// Why a device could not be opened, if that is the error.
  public let device: DeviceRefusal?

  public init(_ code: Code, _ description: String, change remedies: Remedy...) {
    self.init(code, description, remedies)
  }

  /// `remedies` are those of the error that this one tells of.
  public init(
    _ code: Code, _ description: String, _ remedies: [Remedy], device: DeviceRefusal? = nil
  ) {
    self.device = device
    self.code = code
    self.description = description
    self.remedies = remedies
  }
}

/// Why a device cannot be opened.
public enum DeviceRefusal: Sendable, Hashable {
  case notFound, notPermitted, inUse
}

/// A part of a request; the command line has an option of the same name.
public enum Remedy: String, Sendable {
  case source
  case sourceSetting = "source-set"
  case sink
  case format, size, rate, duration
  case stage, workers, memory, overwrite
  case microphone
  case audioStage = "audio-stage"
  case audioRate = "audio-rate"
  case audioChannels = "audio-channels"
  case audioCodec = "audio-codec"
  case codec
  /// The sinks that have an option of their own.
  case movie, stills, dump, reports, checksum, checksums, pipe, share, virtual
}
