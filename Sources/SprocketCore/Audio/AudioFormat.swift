internal import Glibc

/// How sound lies in memory: interleaved little-endian numbers. A *sample* is one number of each channel.
public struct AudioFormat: Sendable, Hashable {
  /// How a number is stored.
  public enum Number: String, Sendable, CaseIterable, SettingValue {
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
  /// Samples per second, nominal.
  public var rate: Int
  public var channels: Int
  /// Speakers of the channels, as in `dwChannelMask` of `WAVEFORMATEXTENSIBLE`: a bit for each
  /// speaker, in the channels' order. 0 where that is not known, as of microphones.
  public var speakers: UInt32 = 0

  /// Accepted by devices and files of this kind.
  public static let rates = 8_000...192_000
  public static let mostChannels = 8

  /// Traps for a rate or a count of channels outside `rates` and 1 to `mostChannels`.
  public init(number: Number, rate: Int, channels: Int) {
    contract(
      Self.rates.contains(rate) && 1...Self.mostChannels ~= channels,
      "makes a format of \(rate) Hz and \(channels) channels; give 8000 to 192000 Hz, and 1 to 8 channels"
    )
    (self.number, self.rate, self.channels) = (number, rate, channels)
  }

  /// Of one sample, all channels.
  public var sampleBytes: Int { number.bytes * channels }

  /// How long `count` samples last at the nominal rate, in nanoseconds, rounded.
  public func nanoseconds(_ count: Int) -> Int64 {
    Int64((Double(count) * 1e9 / Double(rate)).rounded())
  }
}

/// The loudness of a block, in each channel: `peak` is the largest magnitude, `meanSquare` the mean of the
/// squares, both as parts of full scale (1 is 0 dBFS for a peak; a full-scale sine has a mean square of 1/2).
public struct AudioLevels: Sendable, BitwiseCopyable {
  public var peak = InlineArray<8, Float>(repeating: 0)
  public var meanSquare = InlineArray<8, Float>(repeating: 0)

  public init() {}

  /// What is told of silence, and of all that is quieter, in dBFS.
  public static let silence = -200.0

  /// Peak of a channel in dBFS: 0 is full scale, and only floating point is above.
  public func peakDecibels(_ channel: Int) -> Double {
    max(20 * log10(Double(peak[channel])), Self.silence)
  }

  /// RMS of a channel in dBFS; a full-scale sine has -3.01.
  public func rmsDecibels(_ channel: Int) -> Double {
    max(10 * log10(Double(meanSquare[channel])), Self.silence)
  }
}
