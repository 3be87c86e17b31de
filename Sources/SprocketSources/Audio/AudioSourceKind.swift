public import SprocketCore
public import SprocketScene

/// An audio source without its type.
public typealias AudioSourceKind = Kind<any AudioSource, AudioRequest>

/// What holds for every audio source of a run.
public struct AudioRequest: KindRequest {
  public static var noun: String { "microphone" }
  public static var remedy: Remedy { .microphone }
  public static var settings: Remedy { .microphone }

  /// Time and pace of the scene that is the run's source of pictures.
  public var scene: SceneTime?

  public init() {}
}

extension AudioSourceKind {
  /// `make` gets what follows the colon (empty where nothing does), the settings, and what holds for all.
  public init<Settings: KindSettings>(
    _ name: String, _ text: String, argument: String? = nil, isArgumentOptional: Bool = false,
    _ type: Settings.Type,
    make: @escaping @Sendable (String, Settings, AudioRequest) throws(RunError) -> any AudioSource
  ) {
    self.init(name, text, argument, isOptional: isArgumentOptional, type, make)
  }
}

extension SceneMicrophone {
  /// `--microphone scene`.
  public static let kind = AudioSourceKind(
    "scene", "the built-in scene's microphone, which beeps", SceneMicrophoneSettings.self
  ) { (_, settings, request) throws(RunError) in
    try SceneMicrophone(settings, in: request.scene ?? SceneTime())
  }
}

extension MicrophoneSource {
  /// `--microphone device:NAME`, or the name alone.
  public static let kind = AudioSourceKind(
    "device", "a microphone of this machine, by ALSA; its name alone will do", argument: "NAME",
    isArgumentOptional: true, MicrophoneSettings.self
  ) { (name, settings, _) throws(RunError) in MicrophoneSource(name: name, settings)
  }

  /// Whether this machine has a sound card that captures.
  public static var hasMicrophone: Bool { !MicrophoneInfo.all().isEmpty }
}

/// The audio sources that `--microphone` knows by name. All other names are those of devices.
public let builtinAudioSources: [AudioSourceKind] = [
  MicrophoneSource.kind, SceneMicrophone.kind,
]
