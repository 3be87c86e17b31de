internal import ArgumentParser
internal import Sprocket

/// What `sprocket run` hears, and what of it goes into files of its own.
struct SoundOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where sound comes from, repeatable; `\(programName) devices` lists microphones. `none`: also not a "
        + "file's own.",
      valueName: "NAME | scene | none"))
  var microphone: [String] = []

  @Option(
    help: ArgumentHelp(
      "An audio stage; the order given is their order.", valueName: "name[:key=value,...]"))
  var audioStage: [String] = []

  @Option(
    help: ArgumentHelp(
      "Writes the levels of each block of sound as JSON Lines. `-` is standard output.",
      valueName: "path"), completion: .file())
  var levels: String?

  func validate() throws {
    if microphone.contains("none"), microphone.count > 1 {
      throw ValidationError(
        "--microphone none is for no sound at all; leave out the others, or none")
    }
    if microphone.isEmpty || microphone == ["none"], levels != nil || !audioStage.isEmpty {
      throw ValidationError(
        "\(levels != nil ? "--levels" : "--audio-stage") is for sound; add --microphone NAME")
    }
  }

  /// Files that are written.
  var paths: [(option: String, path: String?)] { [("--levels", levels)] }

  /// The sound of a run whose pictures come from `source`.
  func engines(
    _ registry: Registry, beside source: any Source, overwrite: Bool
  ) throws(RunError) -> [AudioEngine] {
    var engines: [AudioEngine] = []
    for (index, text) in microphone.enumerated() where text != "none" {
      var request = AudioRequest()
      request.scene = (source as? SceneSource)?.time
      let sound = try registry.audioSource(text, request)
      var stages: [AudioChoice] = []
      for text in audioStage { stages.append(try registry.audioChoice(text)) }
      var sinks: [any AudioSink] = []
      if index == 0, let levels { sinks.append(LevelSink(path: levels, overwrite: overwrite)) }
      engines.append(try AudioEngine(sound, stages: stages, sinks: sinks))
    }
    return engines
  }
}

extension Registry {
  /// `NAME[:ARGUMENT][,KEY=VALUE...]`. A name that is none of the kinds' is a device's.
  func audioSource(_ text: String, _ request: AudioRequest) throws(RunError) -> any AudioSource {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = audioSources.first(where: { $0.name == parts[0] }) else {
      throw RunError(
        .usage,
        "there is no microphone `\(text)`; " + knownNames(audioSources.map(\.name), near: text),
        change: .microphone)
    }
    let (argument, values) = try argumentAndValues(
      of: kind, parts.dropFirst().first ?? "", in: text, option: "--microphone")
    return try kind.make(argument: argument, values: values, request: request)
  }
}
