/// How sound is written into files.
public struct RecordedSound: Sendable, Hashable {
  public var sync = AudioSync.auto
  /// Samples per second; `nil`: those of the source.
  public var rate: Int?
  /// Number of channels: fewer are means, more are copies of one, or silent; `nil`: those of the source.
  public var channels: Int?
  /// A file that holds no PCM (MP4) is recorded without the sound, and a note says so; else it is refused.
  public var mayBeLeftOut = false

  public init() {}
}

/// What a complete file holds of one source: `samples` are `delivered`, `silence` and `corrected` together.
public struct AudioFileAccount: Sendable, Hashable {
  public var path: String
  /// In the file, at its own rate.
  public var samples: UInt64
  /// Of the source, in its samples.
  public var delivered: UInt64
  /// Written where there was no sound, in samples of the source.
  public var silence: UInt64
  /// What the correction of the clock added, below 0 what it left out. In a file with another rate, in its
  /// samples.
  public var corrected: Int64

  public init(
    path: String, samples: UInt64, delivered: UInt64, silence: UInt64, corrected: Int64
  ) {
    self.path = path
    (self.samples, self.delivered, self.silence) = (samples, delivered, silence)
    self.corrected = corrected
  }
}

/// How a file's sound follows the picture's clock.
public enum AudioSync: String, Sendable, CaseIterable, SettingValue {
  /// Bit for bit until it is 3 ms off, then corrected to the file's end.
  case auto
  /// Never corrected.
  case exact
}
