internal import Glibc
public import SprocketCore

/// Makes sound louder or softer.
public struct Gain: AudioStage {
  public static let plugin = AudioPlugin("gain", "makes sound louder or softer", Gain.self)

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var db = 0.0

    public init() {}

    public static var settings: [Setting<Self>] {
      [Setting("db", \.db, range: -96...96, unit: "dB", "6.02 doubles the amplitude")]
    }
  }

  public var settings = Settings()

  private var factor: Float = 1

  public init() {}

  public mutating func configure(_ setup: AudioStageSetup) throws(StageError) {
    factor = Float(pow(10, settings.db / 20))
  }

  public mutating func process(_ samples: inout MutableSpan<Float>, _ record: AudioRecord) {
    scale(&samples, by: factor)
  }
}

func scale(_ samples: inout MutableSpan<Float>, by factor: Float) {
  for index in 0..<samples.count { samples[index] *= factor }
}
