internal import CSprocketALSA

/// How ALSA stores a number, of those formats that Sprocket takes. All are little-endian.
public enum ALSAFormat: String, Sendable, Hashable, CaseIterable {
  case s16 = "S16_LE"
  /// 24 bits in the low three bytes of four.
  case s24 = "S24_LE"
  /// 24 bits in three bytes.
  case s24Packed = "S24_3LE"
  case s32 = "S32_LE"
  /// IEEE 754, full scale from -1 to 1.
  case f32 = "FLOAT_LE"

  /// Of one number.
  public var bytes: Int {
    switch self {
    case .s16: 2
    case .s24Packed: 3
    case .s24, .s32, .f32: 4
    }
  }

  var number: snd_pcm_format_t {
    switch self {
    case .s16: SND_PCM_FORMAT_S16_LE
    case .s24: SND_PCM_FORMAT_S24_LE
    case .s24Packed: SND_PCM_FORMAT_S24_3LE
    case .s32: SND_PCM_FORMAT_S32_LE
    case .f32: SND_PCM_FORMAT_FLOAT_LE
    }
  }
}

/// Rates that a device offers, samples per second.
public struct ALSARates: Sendable, Hashable {
  /// Those that are usual, ascending.
  public var usual: [Int]
  /// The least and the greatest; between them others may be offered, too.
  public var range: ClosedRange<Int>

  public init(usual: [Int], range: ClosedRange<Int>) {
    self.usual = usual
    self.range = range
  }

  /// Every rate that sound devices usually have, from 8 to 192 kHz.
  public static let all = [
    8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000,
    176_400, 192_000,
  ]
}

/// What a device was set to.
public struct ALSASetup: Sendable, Hashable {
  public var format: ALSAFormat
  /// Samples per second.
  public var rate: Int
  public var channels: Int
  /// Samples from one wake-up to the next.
  public var periodSamples: Int
  /// Samples that the device holds until they are read.
  public var bufferSamples: Int
  /// The status tells times of `CLOCK_MONOTONIC`; else those of an unknown clock.
  public var isMonotonic: Bool

  public init(
    format: ALSAFormat, rate: Int, channels: Int, periodSamples: Int, bufferSamples: Int,
    isMonotonic: Bool
  ) {
    self.format = format
    self.rate = rate
    self.channels = channels
    self.periodSamples = periodSamples
    self.bufferSamples = bufferSamples
    self.isMonotonic = isMonotonic
  }
}
