public import Sprocket
internal import SprocketStages

// Microphones as devices of a session.
extension CaptureDevice {
  /// The microphone of a scene as a device of its own: for programs without one, and for tests.
  public convenience init(sceneMicrophone settings: SceneMicrophoneSettings, name: String = "scene")
  {
    self.init(
      uniqueID: "scene-microphone:\(name)", name: name, .audio, .scene, .sceneMicrophone(settings))
  }

  /// A source of the program's own as a microphone: live sound that it receives, for example
  /// (`PushAudioSource`). `makeSource` is called each time that a session starts it, and returns a source
  /// that was not opened. `format` is that of the sound that goes on, if the source is to take a microphone's
  /// place in a running session: one of another format is refused. `nil`: any.
  public convenience init(
    microphone name: String,
    makeSource: @escaping @Sendable (_ format: AudioFormat?) throws(RunError) -> any AudioSource
  ) {
    self.init(
      uniqueID: "program:\(name)", name: name, .audio, .microphone, .otherSound(makeSource))
  }

  /// Opens a microphone. The engine reads it when it is started.
  func makeAudio(
    _ sinks: [any AudioSink], _ stages: [AudioChoice]
  ) throws(RunError) -> AudioEngine {
    var stages = stages
    if let volume = state.withLock(\.volume),
      let gain = stages.firstIndex(where: { $0.plugin.name == "gain" })
    {
      stages[gain][Gain.Settings.self]?.db = volumeDecibels(volume)
    }
    return try AudioEngine(makeSound(nil), stages: stages, sinks: sinks, outlivesSource: true)
  }

  /// The source of a microphone, not opened. `format`: what it has to give; `nil`: what it gives by itself.
  func makeSound(_ format: AudioFormat?) throws(RunError) -> any AudioSource {
    switch kind {
    case .microphone(let info):
      let settings = info.settings(for: format)
      return MicrophoneSource(name: settings.name, settings)
    case .sceneMicrophone(var settings):
      if let format {
        settings.number = format.number
        settings.rate = format.rate
        settings.channels = format.channels
      }
      return try SceneMicrophone(settings)
    case .otherSound(let make): return try make(format)
    case .camera, .scene, .other: throw RunError(.usage, "\(localizedName) is no microphone")
    }
  }
}
