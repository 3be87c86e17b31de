/// How sound is stored in a movie, when it is not PCM.
public enum SoundCodec: String, CaseIterable, Sendable {
  case aac, opus, flac

  /// The library's encoder.
  var encoderName: String {
    switch self {
    case .aac: "aac"
    case .opus: "libopus"
    case .flac: "flac"
    }
  }

  /// Rates that it has, in Hz; `nil` for FLAC, see ``SoundEncoder/holds(rate:)``.
  private var rates: [Int]? {
    switch self {
    case .aac:
      [
        8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200,
        96_000,
      ]
    // All others would be resampled by the encoder, and its files say 48 kHz anyway.
    case .opus: [48_000]
    case .flac: nil
    }
  }

  /// The rate that a file has of sound of `rate`: the same where the codec has it, else the next above.
  public func rate(for rate: Int) -> Int {
    guard let rates else { return SoundEncoder.holds(rate: rate) ? rate : 48_000 }
    return rates.first { $0 >= rate } ?? rates.last ?? rate
  }

  /// Most channels. Of more than two, libopus and its decoders put some in each other's places.
  public var mostChannels: Int { self == .opus ? 2 : 8 }

  /// Bits per second for each channel where nothing is asked for: what listeners seldom tell from the
  /// original. Larger: larger files.
  var usualBitRate: Int? {
    switch self {
    case .aac: 64_000
    case .opus: 48_000
    case .flac: nil
    }
  }
}
