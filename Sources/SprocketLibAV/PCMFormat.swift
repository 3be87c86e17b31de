/// How sound lies in a file and in memory: interleaved little-endian numbers, uncompressed. A *sample* is one
/// number of each channel.
public struct PCMFormat: Hashable, Sendable {
  /// How a number is stored.
  public enum Number: String, CaseIterable, Sendable {
    case s16
    /// 24 bits in three bytes.
    case s24
    case s32
    /// IEEE 754, full scale from -1 to 1.
    case f32

    public var bytes: Int {
      switch self {
      case .s16: 2
      case .s24: 3
      case .s32, .f32: 4
      }
    }
  }

  public var number: Number
  /// Samples per second; above 0.
  public var rate: Int
  /// Above 0.
  public var channels: Int
  /// Where the channels are heard, as the `dwChannelMask` of `WAVEFORMATEXTENSIBLE` says it; 0 where that is
  /// not known.
  public var speakers: UInt32

  public init(number: Number, rate: Int, channels: Int, speakers: UInt32 = 0) {
    (self.number, self.rate, self.channels) = (number, rate, channels)
    self.speakers = speakers
  }

  /// Returns true if a file that does not name the speakers loses nothing: players take the same ones.
  public var hasUsualSpeakers: Bool {
    speakers == 0 || channels == 1 && speakers == 4 || channels == 2 && speakers == 3
  }

  /// Of one sample, all channels.
  public var sampleBytes: Int { number.bytes * channels }
}

/// A track of sound in a movie. It begins with the movie, at tick 0.
public struct SoundTrack {
  public var format: PCMFormat
  /// What players call the track, such as the microphone's name; empty for none.
  public var name: String
  /// Language of the words in it, three letters of ISO 639-2; `nil` if it is not known.
  public var language: String?
  /// What encodes it; `nil` for PCM.
  public var encoder: SoundEncoder?

  public init(
    format: PCMFormat, name: String = "", language: String? = nil, encoder: SoundEncoder? = nil
  ) {
    (self.format, self.name, self.language) = (format, name, language)
    self.encoder = encoder
  }
}
