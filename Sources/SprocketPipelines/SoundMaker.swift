internal import Sprocket

/// Makes what a pipeline hears.
struct SoundMaker {
  private let pipeline: Pipeline
  private let settings: RunSettings
  private let kinds: Kinds

  init(_ pipeline: Pipeline, _ run: Run, _ kinds: Kinds) {
    (self.pipeline, settings, self.kinds) = (pipeline, run.settings, kinds)
  }

  private var sound: SoundParts { pipeline.sound }

  /// What `auto` stands for.
  private func automatic(_ source: any Source) -> String? {
    if source is SceneSource { return "scene" }
    return source is CameraSource && MicrophoneSource.hasMicrophone ? "device" : nil
  }

  /// The sound of a run whose pictures come from `source`. A file's own is heard where nothing else is asked
  /// for and an output would hold it.
  func engines(beside source: any Source) throws(RunError) -> [AudioEngine] {
    var sources: [any AudioSource] = []
    var request = AudioRequest()
    request.scene = (source as? SceneSource)?.time
    for part in sound.microphones {
      if let made = try make(part, beside: source, request) { sources.append(made) }
    }
    let isSilent = sound.microphones.contains { $0.kind == SoundParts.none }
    let holdsSound = pipeline.outputs.contains {
      [MovieSink.kind.name, DumpSink.kind.name].contains($0.kind)
    }
    if sources.isEmpty, !isSilent, holdsSound || sound.hasFiles {
      if let file = source as? FileSource, let sound = FileAudioSource.ifAny(of: file) {
        sources.append(sound)
      } else if let replay = source as? ReplaySource {
        sources += ReplayAudioSource.all(of: replay)
      }
    }
    if sources.isEmpty, let path = sound.wanted {
      if let file = source as? FileSource, let fault = FileAudioSource.fault(of: file) {
        throw fault
      }
      let isAutomatic = sound.microphones.contains { $0.kind == SoundParts.automatic }
      throw RunError(
        .usage,
        isAutomatic
          ? "sound is wanted, and this machine has no microphone; plug one in, or name another source"
          : "sound is wanted, and there is none; name a microphone", [path, .microphone])
    }
    var engines: [AudioEngine] = []
    for (index, source) in sources.enumerated() {
      engines.append(
        try AudioEngine(
          source, stages: try stages(), sinks: index == 0 ? try sinks() : [], held: held))
    }
    return engines
  }

  private func make(
    _ part: Part, beside source: any Source, _ request: AudioRequest
  ) throws(RunError) -> (any AudioSource)? {
    var name = part.kind
    if name == SoundParts.none { return nil }
    if name == SoundParts.automatic {
      guard let found = automatic(source) else { return nil }
      name = found
    }
    guard let kind = kinds.microphones.first(where: { $0.name == name }) else {
      throw RunError(.usage, "there is no microphone `\(name)`", change: .microphone)
    }
    return try kind.make(
      part.kind == SoundParts.automatic ? kind.settingsType.init() : part.settings, request: request
    )
  }

  private func stages() throws(RunError) -> [AudioChoice] {
    try sound.stages.map { (part) throws(RunError) in
      guard let plugin = kinds.audioStages.first(where: { $0.name == part.kind }) else {
        throw RunError(.usage, "there is no audio stage `\(part.kind)`", change: .audioStage)
      }
      return AudioChoice(plugin, settings: part.settings)
    }
  }

  private func sinks() throws(RunError) -> [any AudioSink] {
    var sinks: [any AudioSink] = []
    let files = sound.files
    if !files.levels.isEmpty {
      sinks.append(LevelSink(path: files.levels.path, overwrite: settings.overwrite))
    }
    if !files.path.isEmpty {
      sinks.append(
        try SoundSink(
          path: files.path.path, overwrite: settings.overwrite, files.recorded, sync: files.sync))
    }
    return sinks
  }

  /// For how long sound is kept: longer than pictures are on their way (look-ahead of a stage, a disk that
  /// pauses), 10 s, and longer than a pre-roll.
  private var held: Duration {
    let preRolls = pipeline.outputs.compactMap { $0[MovieSettings.self]?.usedPreRoll }
    let longest = preRolls.map { $0.duration + $0.slack }.max()
    return .seconds(10) + (longest ?? .zero)
  }
}

extension SoundParts {
  var hasFiles: Bool { !files.path.isEmpty || !files.levels.isEmpty }

  /// The path of a setting that needs sound; `nil` where none is given.
  var wanted: SettingPath? {
    if !stages.isEmpty { return .audioStage }
    return files.chosen.first { $0.name != "sync" }.map { SettingPath("sound", $0.name) }
  }
}
