internal import Sprocket

// What goes with what within one pipeline.
extension Pipeline {
  /// All parts, with their roles.
  var parts: [(Kinds.Role, Part)] {
    (source.map { [(.source, $0)] } ?? []) + sound.microphones.map { (.microphone, $0) }
      + stages.map { (.stage, $0) } + sound.stages.map { (.audioStage, $0) }
      + outputs.map { (.output, $0) }
  }

  /// Errors for conditions on reports that the chain does not make.
  func conditionErrors(_ kinds: Kinds) -> [RunError] {
    let stages = stages.compactMap { try? kinds.choice($0).plugin }
    var conditions = [(asking.until, SettingPath("until"))]
    for part in outputs {
      let path = SettingPath(
        "outputs", part.id, part.kind == StillSink.kind.name ? "when" : "record-when")
      conditions.append(
        (part[MovieSettings.self]?.when ?? part[StillSettings.self]?.when ?? "", path))
    }
    var errors: [RunError] = []
    for (condition, path) in conditions where !condition.isEmpty {
      do throws(RunError) { try TriggerSink.check(condition, of: stages) } catch {
        errors.append(RunError(error.code, error.description, [path]))
      }
    }
    return errors
  }

  /// Errors for settings that need another one, or that exclude each other.
  func ruleErrors(_ settings: RunSettings) -> [RunError] {
    outputErrors
      + outputs.flatMap { part in
        part[MovieSettings.self].map { errors($0) { .init("outputs", part.id, $0) } } ?? []
      } + soundErrors
      + (source?.kind == EmptySource.kind.name ? soundAloneErrors(settings) : [])
  }

  private var outputErrors: [RunError] {
    var errors: [RunError] = []
    for (index, part) in outputs.enumerated()
    where outputs[..<index].contains(where: { $0.id == part.id }) {
      errors.note(
        "two outputs are called \(part.id); give each a name of its own",
        Kinds.Role.output.path(part.id, nil))
    }
    // Requests name no movie, so that one alone can be meant.
    let asked = outputs.filter { $0.kind == MovieSink.kind.name && $0.isAsked }
    if asked.count > 1 {
      errors.note(
        "\(asked[0].id) and \(asked[1].id) are both recorded on request, on a condition or within limits "
          + "(split, longest, keep-free, {n}), and a run has one such movie; leave that out of one",
        Kinds.Role.output.path(asked[1].id, nil))
    }
    let stills = outputs.filter { $0.kind == StillSink.kind.name && $0.isAsked }
    if stills.count > 1 {
      errors.note(
        "\(stills[0].id) and \(stills[1].id) both take stills on demand, and one of a run can; leave that "
          + "out of one",
        Kinds.Role.output.path(stills[1].id, "on-demand"))
    }
    return errors
  }

  private func errors(
    _ movie: MovieSettings, at path: (String) -> SettingPath
  ) -> [RunError] {
    var errors: [RunError] = []
    if movie.keep != nil, movie.when.isEmpty {
      errors.note(
        "keep is the time after a condition; give the condition",
        path("keep"), path("record-when"))
    }
    if movie.preRoll != nil, !movie.isAsked {
      errors.note(
        "a pre-roll is of movies that are asked for, or recorded on a condition; say so",
        path("pre-roll"), path("on-demand"), path("record-when"))
    }
    if movie.preRollMemory != nil, movie.usedPreRoll == nil {
      errors.note(
        "there is no pre-roll that could take memory; give its time",
        path("pre-roll-memory"), path("pre-roll"))
    }
    if !movie.codec.isJPEG, movie.quality != nil {
      errors.note(
        "quality is for mjpeg; \(movie.codec.name) has crf, lower is better: crf=20",
        path("quality"), path("crf"))
    }
    return errors
  }

  /// Below it no encoder gives what can be understood (Opus: 6 kbit/s, RFC 6716, section 2.1.1).
  private static var leastBitRate: Int { 6000 }

  private var soundErrors: [RunError] {
    var errors: [RunError] = []
    let names = sound.microphones.map(\.kind)
    if names.contains(SoundParts.none), names.count > 1 {
      errors.note(
        "the microphone none is for no sound at all; leave out the others, or none",
        .microphone)
    }
    for (index, part) in sound.microphones.enumerated()
    where sound.microphones[..<index].contains(part) {
      errors.note(
        "the microphone \(part.kind) is given twice; give each once",
        .microphone)
    }
    if let rate = sound.files.bitRate, rate.bitsPerSecond < Self.leastBitRate {
      errors.note(
        "\(rate.settingText) is less than \(Self.leastBitRate) bits per second; give, for example, 128k",
        SettingPath("sound", "bitrate"))
    }
    if names == [SoundParts.none], let path = sound.wanted {
      errors.note(
        "there is to be no sound; leave this out, or the microphone none",
        path, .microphone)
    }
    // Sinks of others may take sound, too, and a movie may be asked for later.
    guard !takesSound, asking == AskingSettings() else { return errors }
    let ofMovies = ["codec", "bitrate"]
    let ofAll = sound.files.path.isEmpty ? ["rate", "channels", "correction"] : []
    if let chosen = sound.files.chosen.first(where: { (ofMovies + ofAll).contains($0.name) }) {
      errors.note(
        "it says how \(ofMovies.contains(chosen.name) && !sound.files.path.isEmpty ? "movies" : "files") "
          + "hold sound, and there is none; record a movie\(sound.files.path.isEmpty ? ", or sound" : "")",
        SettingPath("sound", chosen.name))
    }
    return errors
  }

  /// Whether an output may hold sound in another form than it came.
  public var takesSound: Bool {
    outputs.contains { !Self.silent.contains($0.kind) }
  }

  /// Whether a file may hold sound in another form than it came.
  public var holdsSound: Bool { takesSound || !sound.files.path.isEmpty }

  /// Outputs that hold no sound in another form than it came.
  private static var silent: [String] {
    [
      StillSink.kind.name, DumpSink.kind.name, ReportSink.kind.name, ChecksumSink.kind.name,
      PipeSink.kind.name, ShareSink.kind.name, VirtualSink.kind.name, NullSink.kind.name,
    ]
  }

  /// Errors for what `--source none` has no pictures for.
  private func soundAloneErrors(_ settings: RunSettings) -> [RunError] {
    var errors: [RunError] = []
    if sound.microphones.isEmpty {
      errors.note(
        "a run without pictures is for sound alone; name a microphone",
        .source)
    }
    let names = [MovieSink.kind.name, StillSink.kind.name]
    if let part = outputs.first(where: { names.contains($0.kind) }) {
      errors.note(
        "it is for pictures, and the source none has none; record sound alone",
        Kinds.Role.output.path(part.id, nil), .source)
    }
    if settings.frames != nil {
      errors.note(
        "frames are pictures, and the source none has none; give a duration",
        SettingPath("frames"), .source)
    }
    if !stages.isEmpty {
      errors.note(
        "a stage is for pictures, and the source none has none; give an audio stage",
        .stage, .source)
    }
    return errors
  }
}
