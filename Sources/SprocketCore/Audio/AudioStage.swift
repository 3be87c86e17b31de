/// An algorithm that sees every block of sound, in order, on one thread.
///
/// Life: `init · configure · process* · finish`. `configure` checks what the user chose against the sound to
/// come, and allocates. `process` changes the samples in place, and allocates nothing. A stage imports
/// `SprocketCore` alone.
public protocol AudioStage: SendableMetatype {
  static var settings: [Setting<Self>] { get }

  /// Sets the defaults; the engine then applies what the user chose.
  init()

  /// Called once, before the first block.
  mutating func configure(_ setup: AudioStageSetup) throws(StageError)

  /// `samples` are interleaved numbers, `setup.channels` of each sample; full scale is from -1 to 1. Numbers
  /// beyond that are clipped behind the last stage, and counted.
  mutating func process(_ samples: inout MutableSpan<Float>, _ record: AudioRecord)

  mutating func finish()

  /// What a user should know of how the run went, each a sentence.
  var notes: [String] { get }
}

extension AudioStage {
  public static var settings: [Setting<Self>] { [] }
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
public struct AudioPlugin: Sendable {
  public let name: String
  /// One line: what it is for.
  public let text: String
  /// Descriptions of all settings. Each read makes them anew, so that they cost nothing at the start.
  public var settings: [SettingDescription] { describeSettings() }
  private let describeSettings: @Sendable () -> [SettingDescription]
  let makeStage: @Sendable (_ values: [String: String]) throws(SettingError) -> any AudioStage

  public init<S: AudioStage>(_ name: String, _ text: String, _ type: S.Type) {
    self.name = name
    self.text = text
    describeSettings = { S.settings.map { SettingDescription($0, of: S()) } }
    makeStage = { (values) throws(SettingError) in
      var stage = S()
      for setting in S.settings {
        if let text = values[setting.name] { try setting.apply(text, to: &stage) }
      }
      return stage
    }
  }
}

/// An audio stage in a chain, and the settings of it that differ from their defaults.
public struct AudioChoice: Sendable {
  public var plugin: AudioPlugin
  /// By name, as they are written on the command line. Checked when the run is set up.
  public var values: [String: String]

  public init(_ plugin: AudioPlugin, values: [String: String] = [:]) {
    self.plugin = plugin
    self.values = values
  }

  /// Chooses settings by the properties that `Owner.settings` name.
  public init<Owner: AudioStage>(
    _ plugin: AudioPlugin, of owner: Owner.Type, _ choose: (inout Owner) -> Void
  ) {
    let usual = Owner()
    var chosen = usual
    choose(&chosen)
    self.init(plugin)
    for setting in Owner.settings {
      let value = setting.read(from: chosen)
      if value != setting.read(from: usual) { values[setting.name] = value }
    }
  }

  /// A stage with these settings. Throws for one that it does not have, and for a value that is not allowed.
  package func make() throws(RunError) -> any AudioStage {
    let known = plugin.settings.map(\.name)
    if let unknown = values.keys.sorted().first(where: { !known.contains($0) }) {
      throw RunError(
        .usage,
        "the audio stage \(plugin.name) has no setting `\(unknown)`; "
          + knownNames(known, near: unknown, "it has"), change: .audioStage)
    }
    do throws(SettingError) {
      return try plugin.makeStage(values)
    } catch {
      throw RunError(
        refused: error, at: .audioStage, of: "the audio stage \(plugin.name)")
    }
  }
}
