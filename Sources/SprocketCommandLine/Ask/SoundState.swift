internal import Sprocket

/// A source of sound in a run's state.
struct SoundState: Codable {
  let name: String
  let rate, channels: Int
  let live: Bool
  let produced, missing, clipped: UInt64
  let gaps: UInt32
  let drift: Double?
  /// What a meter shows now, per channel.
  let peak, rms: [Double]

  enum CodingKeys: String, CodingKey {
    case name, rate, channels, live, produced, missing, clipped, gaps
    case drift = "drift_ppm"
    case peak = "peak_dbfs"
    case rms = "rms_dbfs"
  }

  init(_ sound: AudioSummary) {
    (name, live) = (sound.source.name, sound.source.isLive)
    (rate, channels) = (sound.source.format.rate, sound.source.format.channels)
    (produced, missing, clipped) = (sound.ledger.produced, sound.missing, sound.clipped)
    (gaps, drift) = (sound.line.segment, sound.drift)
    let levels = sound.levels
    peak = (0..<channels).map { (levels.peakDecibels($0) * 100).rounded() / 100 }
    rms = (0..<channels).map { (levels.rmsDecibels($0) * 100).rounded() / 100 }
  }
}
