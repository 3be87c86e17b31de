internal import ArgumentParser
internal import Sprocket

/// What `sprocket run` hears, and what of it goes into files of its own.
struct SoundOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where sound comes from, repeatable; `\(programName) devices` lists microphones. `auto`: the scene's "
        + "where the scene is the source, else the first. `none`: also not a file's own.",
      valueName: "NAME | scene | file:PATH | replay:PATH | auto | none"))
  var microphone: [String] = []

  @Option(
    help: ArgumentHelp(
      "An audio stage; the order given is their order.", valueName: "name[:key=value,...]"))
  var audioStage: [String] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Samples per second in files; default the microphone's. 22050, 44100.", valueName: "hz"),
    transform: wholeNumber(AudioFormat.rates, example: 44100))
  var audioRate: Int?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Channels in files; default the microphone's. 1 mixes them down.", valueName: "n"),
    transform: wholeNumber(1...AudioFormat.mostChannels, example: 1))
  var audioChannels: Int?

  @Option(
    help: ArgumentHelp(
      "How movies hold sound; default pcm, in .mp4 aac.", valueName: "pcm | aac | opus | flac"))
  var audioCodec: AudioCodec?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Of aac and opus, all channels together; default 64k and 48k per channel.",
      valueName: "bits/s"), transform: BitRate.parse)
  var audioBitrate: BitRate?

  @Option(
    help: ArgumentHelp(
      "Whether a sound card's wrong clock is corrected in files: auto, once it is 3 ms off, or never.",
      valueName: "auto | exact"))
  var audioSync: AudioSync?

  @Option(
    help: ArgumentHelp(
      "Writes the sound of the first microphone into a file of its own.",
      valueName: "path.wav | .flac | .mov | .mkv"), completion: .file())
  var sound: String?

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
    if let twice = microphone.first(where: { name in microphone.count { $0 == name } > 1 }) {
      throw ValidationError("--microphone \(twice) is given twice; give each microphone once")
    }
    if let rate = audioBitrate, rate.bitsPerSecond < Self.leastBitRate {
      throw ValidationError(
        "--audio-bitrate \(rate.settingText) is less than \(Self.leastBitRate) bits per second; give, for "
          + "example, 128k")
    }
    if microphone == ["none"], let option = given {
      throw ValidationError("\(option) is for sound; leave out --microphone none")
    }
  }

  /// Below it no encoder gives what can be understood (Opus: 6 kbit/s, RFC 6716, section 2.1.1).
  private static let leastBitRate = 6000

  /// An option that is about sound and was given.
  private var given: String? {
    [
      ("--levels", levels != nil), ("--audio-stage", !audioStage.isEmpty),
      ("--sound", sound != nil), ("--audio-rate", audioRate != nil),
      ("--audio-channels", audioChannels != nil), ("--audio-sync", audioSync != nil),
      ("--audio-codec", audioCodec != nil), ("--audio-bitrate", audioBitrate != nil),
    ].first(where: \.1)?.0
  }

  /// An option that was given and says how files hold sound: those that only movies take, or all.
  func formatting(ofMoviesAlone: Bool) -> String? {
    let movies = [("--audio-codec", audioCodec != nil), ("--audio-bitrate", audioBitrate != nil)]
    let all = [
      ("--audio-rate", audioRate != nil), ("--audio-channels", audioChannels != nil),
      ("--audio-sync", audioSync != nil),
    ]
    return (ofMoviesAlone ? movies : movies + all).first(where: \.1)?.0
  }

  /// Files that are written.
  var paths: [(option: String, path: String?)] { [("--levels", levels), ("--sound", sound)] }

  /// How sound is written into files.
  var recorded: RecordedSound {
    var recorded = RecordedSound()
    (recorded.rate, recorded.channels) = (audioRate, audioChannels)
    recorded.sync = audioSync ?? .auto
    (recorded.codec, recorded.bitRate) = (audioCodec, audioBitrate)
    return recorded
  }

  /// What `auto` stands for.
  private func automatic(_ source: any Source) -> [String] {
    if source is SceneSource { return ["scene"] }
    return source is CameraSource && MicrophoneSource.hasMicrophone ? ["device"] : []
  }

  /// The sound of a run whose pictures come from `source`. A file's own is heard where nothing else is
  /// asked for and `isRecorded` says that a file would hold it. `held` is for how long what was heard is
  /// kept.
  func engines(
    _ registry: Registry, beside source: any Source, isRecorded: Bool, held: Duration,
    overwrite: Bool, sync: Duration?
  ) throws(RunError) -> [AudioEngine] {
    var sources: [any AudioSource] = []
    var request = AudioRequest()
    request.scene = (source as? SceneSource)?.time
    let names = microphone.flatMap { $0 == "auto" ? automatic(source) : [$0] }
    for text in names where text != "none" {
      sources.append(try registry.audioSource(text, request))
    }
    let wantsSound = isRecorded || sound != nil || levels != nil
    if sources.isEmpty, microphone != ["none"], wantsSound, let file = source as? FileSource,
      let sound = FileAudioSource.ifAny(of: file)
    {
      sources.append(sound)
    }
    if sources.isEmpty, microphone != ["none"], wantsSound, let replay = source as? ReplaySource {
      sources += ReplayAudioSource.all(of: replay)
    }
    if sources.isEmpty, let given {
      if let file = source as? FileSource, let fault = FileAudioSource.fault(of: file) {
        throw fault
      }
      throw RunError(
        .usage,
        microphone == ["auto"]
          ? "\(given) is for sound, and this machine has no microphone; plug one in, or name another source"
          : "\(given) is for sound, and there is none; add --microphone NAME",
        change: .microphone)
    }
    var engines: [AudioEngine] = []
    for (index, source) in sources.enumerated() {
      var stages: [AudioChoice] = []
      for text in audioStage { stages.append(try registry.audioChoice(text)) }
      var sinks: [any AudioSink] = []
      if index == 0, let levels { sinks.append(LevelSink(path: levels, overwrite: overwrite)) }
      if index == 0, let sound {
        sinks.append(try SoundSink(path: sound, overwrite: overwrite, recorded, sync: sync))
      }
      engines.append(try AudioEngine(source, stages: stages, sinks: sinks, held: held))
    }
    return engines
  }
}

extension RunCommand {
  /// Throws for what `--source none` has no pictures for.
  func checkSoundAlone(_ choices: [SinkChoice]) throws(RunError) {
    let names = [MovieSink.kind.name, StillSink.kind.name]
    if let choice = choices.first(where: { names.contains($0.kind.name) }) {
      throw RunError(
        .usage,
        "\(choice.option) is for pictures, and --source none has none; record sound alone with --sound PATH",
        change: .source)
    }
    if frames != nil {
      throw RunError(
        .usage, "--frames counts pictures, and --source none has none; give --duration",
        change: .source)
    }
    if !stage.isEmpty {
      throw RunError(
        .usage, "--stage is for pictures, and --source none has none; give --audio-stage",
        change: .source)
    }
  }
}

extension Registry {
  /// `NAME[:ARGUMENT][,KEY=VALUE...]`. A name that is none of the kinds' is a device's.
  func audioSource(_ text: String, _ request: AudioRequest) throws(RunError) -> any AudioSource {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let named = audioSources.first { $0.name == parts[0] }
    if named == nil { try checkName(text) }
    guard let kind = named ?? audioSources.first(where: { $0.name == MicrophoneSource.kind.name })
    else {
      throw RunError(
        .usage,
        "there is no microphone `\(text)`; " + knownNames(audioSources.map(\.name), near: text),
        change: .microphone)
    }
    let (argument, values) = try argumentAndValues(
      of: kind, named == nil ? text[...] : parts.dropFirst().first ?? "", in: text,
      option: "--microphone")
    return try kind.make(argument: argument, values: values, request: request)
  }

  /// Throws for what is no device's name, but nearly that of another source.
  private func checkName(_ text: String) throws(RunError) {
    let kinds = audioSources.map(\.name)
    let parts = text.split(separator: ",", maxSplits: 1)
    let name = String(parts.first ?? "")
    if parts.count == 2, kinds.contains(name) {
      throw RunError(
        .usage, "--microphone \(text): settings follow a colon; write \(name):\(parts[1])",
        change: .microphone)
    }
    if PartialFile.isFile(name) {
      let kind = name.lowercased().hasSuffix(".mcap") ? "replay" : "file"
      throw RunError(
        .usage, "--microphone \(text): to hear a file, write \(kind):\(text)", change: .microphone)
    }
    let word = String(text.prefix { $0 != ":" && $0 != "," })
    // Names of devices have a colon, or are a word of ALSA's.
    if !word.contains(":"), let near = nearestName(to: word, among: kinds + ["auto", "none"]),
      !MicrophoneInfo.isNamed(word)
    {
      throw RunError(
        .usage, "there is no microphone `\(text)`; did you mean `\(near)`?", change: .microphone)
    }
  }
}
