/// An algorithm that sees every block of sound, in order, on one thread.
///
/// Life: `init · configure · process* · finish`. `configure` checks what the user chose against the sound to
/// come, and allocates. `process` changes the samples in place, and allocates nothing. A stage imports
/// `SprocketCore` alone.
public protocol AudioStage: SendableMetatype {
  /// What a user may choose; none by default.
  associatedtype Settings: KindSettings = NoSettings

  /// With the defaults; the engine then sets `settings`.
  init()

  /// What the user chose. The engine sets it before `configure`.
  var settings: Settings { get set }

  /// Called once, before the first block.
  mutating func configure(_ setup: AudioStageSetup) throws(StageError)

  /// `samples` are interleaved numbers, `setup.channels` of each sample; full scale is from -1 to 1. Numbers
  /// beyond that are clipped behind the last stage, and counted.
  mutating func process(_ samples: inout MutableSpan<Float>, _ record: AudioRecord)

  /// Called once, after the last block. By default does nothing.
  mutating func finish()

  /// What a user should know of how the run went, each a sentence.
  var notes: [String] { get }
}

extension AudioStage where Settings == NoSettings {
  public var settings: NoSettings {
    get { NoSettings() }
    set {}
  }
}

extension AudioStage {
  public mutating func finish() {}
  public var notes: [String] { [] }
}

/// What an audio stage is told in `configure`.
public struct AudioStageSetup: Sendable {
  /// Samples per second, nominal.
  public let rate: Int
  public let channels: Int
  /// Most samples in a block.
  public let blockSamples: Int
  /// Sound does not wait: it comes from a device.
  public let isLive: Bool

  public init(rate: Int, channels: Int, blockSamples: Int, isLive: Bool) {
    self.rate = rate
    self.channels = channels
    self.blockSamples = blockSamples
    self.isLive = isLive
  }
}

/// An audio stage with a name, as a list of stages has it.
public struct AudioPlugin: NamedKind {
  public static var noun: String { "audio stage" }
  public static func path(_ kind: String, _ setting: String?) -> SettingPath { .audioStage }

  public let name: String
  /// One line: what it is for.
  public let text: String
  public let settingsType: any KindSettings.Type
  let makeStage: @Sendable (any KindSettings) -> any AudioStage

  public init<S: AudioStage>(_ name: String, _ text: String, _ type: S.Type) {
    self.name = name
    self.text = text
    settingsType = S.Settings.self
    makeStage = { settings in
      var stage = S()
      if let own = settings as? S.Settings { stage.settings = own }
      return stage
    }
  }
}

extension Choice where Kind == AudioPlugin {
  /// A stage with these settings.
  package func make() -> any AudioStage { plugin.makeStage(settings) }
}
