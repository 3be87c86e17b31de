/// How sound is written into files.
public struct RecordedSound: Sendable, Hashable {
  public var sync = AudioSync.auto
  /// Samples per second; `nil`: those of the source.
  public var rate: Int?
  /// Number of channels: fewer are means, more are copies of one, or silent; `nil`: those of the source.
  public var channels: Int?
  /// `nil`: PCM where the file holds it, else AAC. In movies alone.
  public var codec: AudioCodec?
  /// Bits per second of AAC or Opus, all channels together; `nil`: 64,000 and 48,000 per channel.
  public var bitRate: BitRate?

  public init() {}
}

/// How sound is stored in movies.
public enum AudioCodec: String, Sendable, CaseIterable, SettingValue {
  case pcm, aac, opus, flac
}

/// Bits per second, spelled `8M`, `500k` or `128000`; above 0, up to 1 G.
public struct BitRate: Sendable, Hashable, SettingValue {
  public var bitsPerSecond: Int

  public init(bitsPerSecond: Int) { self.bitsPerSecond = bitsPerSecond }

  public init?(settingText: String) {
    let units: [(suffix: String, bits: Double)] = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("", 1)]
    for unit in units where settingText.hasSuffix(unit.suffix) {
      guard let value = Double(settingText.dropLast(unit.suffix.count)),
        value > 0, value * unit.bits >= 1, value * unit.bits <= 1e9
      else { return nil }
      bitsPerSecond = Int((value * unit.bits).rounded())
      return
    }
    return nil
  }

  public var settingText: String {
    for (suffix, bits) in [("M", 1_000_000), ("k", 1000)] where bitsPerSecond % bits == 0 {
      return "\(bitsPerSecond / bits)\(suffix)"
    }
    return "\(bitsPerSecond)"
  }

  public static var allowed: String { "bits per second, such as 8M or 128k" }
  public static var forms: [SettingForm] {
    [.number(isWhole: false), .text(pattern: "[0-9]+(\\.[0-9]+)?[kMG]?")]
  }
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
