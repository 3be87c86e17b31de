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

/// How a file's sound follows the picture's clock.
public enum AudioSync: String, Sendable, CaseIterable, SettingValue {
  /// Bit for bit until it is 3 ms off, then corrected to the file's end.
  case auto
  /// Never corrected.
  case exact
}
