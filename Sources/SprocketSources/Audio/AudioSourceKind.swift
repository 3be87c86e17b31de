public import SprocketCore
public import SprocketScene

/// An audio source without its type.
public typealias AudioSourceKind = Kind<any AudioSource, AudioRequest>

/// What holds for every audio source of a run.
public struct AudioRequest: KindRequest {
  public static var noun: String { "microphone" }
  public static func path(_ kind: String, _ setting: String?) -> SettingPath { .microphone }

  /// Time and pace of the scene that is the run's source of pictures.
  public var scene: SceneTime?

  public init() {}
}

extension AudioSourceKind {
  /// `argument` is the setting whose value may follow the kind's name and a colon. `make` gets the settings,
  /// and what holds for all.
  public init<Settings: KindSettings>(
    _ name: String, _ text: String, argument: String? = nil, isArgumentOptional: Bool = false,
    _ type: Settings.Type,
    make: @escaping @Sendable (Settings, AudioRequest) throws(RunError) -> any AudioSource
  ) {
    self.init(name, text, argument, shown: nil, isOptional: isArgumentOptional, type, make)
  }
}

extension SceneMicrophone {
  /// `--microphone scene`.
  public static let kind = AudioSourceKind(
    "scene", "the built-in scene's microphone, which beeps", SceneMicrophoneSettings.self
  ) { (settings, request) throws(RunError) in
    try SceneMicrophone(settings, in: request.scene ?? SceneTime())
  }
}

extension MicrophoneSource {
  /// `--microphone device:NAME`, or the name alone.
  public static let kind = AudioSourceKind(
    "device", "a microphone of this machine, by ALSA; its name alone will do", argument: "name",
    isArgumentOptional: true, MicrophoneSettings.self
  ) { (settings, _) throws(RunError) in
    MicrophoneSource(name: settings.name, settings)
  }

  /// Whether this machine has a sound card that captures.
  public static var hasMicrophone: Bool { !MicrophoneInfo.all().isEmpty }
}

/// What a user may choose about the sound of a file.
public struct FileSoundSettings: KindSettings {
  public var path = InputName("")
  public var pace = SourcePace.fast
  public var from = Duration.zero
  /// Number of a stream of the file, as ffprobe counts; -1: the best.
  public var stream = -1

  public init() {}

  public static var settings: [Setting<FileSoundSettings>] {
    [
      Setting("path", \.path, "of a file with sound"),
      Setting("pace", \.pace, "fast: as fast as sound is taken; real: each block at its time"),
      Setting("from", \.from, "begins at this time from the file's first picture, or else sound"),
      Setting(
        "stream", \.stream, range: -1...1_000_000,
        "number of a stream as ffprobe counts; -1: the best"),
    ]
  }
}

extension FileAudioSource {
  /// `--microphone file:PATH`.
  public static let kind = AudioSourceKind(
    "file", "the sound of a file, at its own times", argument: "path", FileSoundSettings.self
  ) { (settings, _) throws(RunError) in
    var file = FileSettings()
    (file.pace, file.from) = (settings.pace, settings.from)
    return FileAudioSource(
      path: settings.path.path, stream: settings.stream < 0 ? nil : settings.stream, file)
  }
}

/// What a user may choose about the sound of a dump.
public struct ReplaySoundSettings: KindSettings {
  public var path = InputName("")
  public var live = false
  public var from = Duration.zero
  public var number = 1
  /// The source of a dump of several; empty where the dump is of one.
  public var stream = ""

  public init() {}

  public static var settings: [Setting<ReplaySoundSettings>] {
    [
      Setting("path", \.path, "of a dump with sound"),
      Setting(
        "number", \.number, range: 1...64, "which of the dump's sources of sound, in their order"),
      Setting("stream", \.stream, "which source of a dump of several is heard: its name"),
      Setting("from", \.from, "begins at this time from the dump's first picture, or else sound"),
      Setting("live", \.live, "true: blocks come when they came"),
    ]
  }
}

extension ReplayAudioSource {
  /// `--microphone replay:PATH`.
  public static let kind = AudioSourceKind(
    "replay", "the sound of a dump", argument: "path", ReplaySoundSettings.self
  ) { (settings, _) throws(RunError) in
    var replay = ReplaySettings()
    (replay.live, replay.from) = (settings.live, settings.from)
    replay.stream = settings.stream
    return ReplayAudioSource(path: settings.path.path, microphone: settings.number, replay)
  }
}

/// The audio sources that `--microphone` knows by name. All other names are those of devices.
public let builtinAudioSources: [AudioSourceKind] = [
  MicrophoneSource.kind, SceneMicrophone.kind, FileAudioSource.kind, ReplayAudioSource.kind,
]
