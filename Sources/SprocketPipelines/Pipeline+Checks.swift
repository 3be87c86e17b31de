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

  func rules(_ settings: RunSettings) -> [Rule] {
    var rules = [Rule(check: checkOutputs)]
    for part in outputs {
      guard let movie = part[MovieSettings.self] else { continue }
      rules.append(
        Rule { () throws(RunError) in try check(movie) { .init("outputs", part.id, $0) } })
    }
    rules.append(Rule(check: checkSound))
    if source?.kind == EmptySource.kind.name {
      rules.append(Rule { () throws(RunError) in try checkSoundAlone(settings) })
    }
    return rules
  }

  private func checkOutputs() throws(RunError) {
    for (index, part) in outputs.enumerated()
    where outputs[..<index].contains(where: { $0.id == part.id }) {
      throw RunError(
        .usage, "two outputs are called \(part.id); give each a name of its own",
        change: Kinds.Role.output.path(part.id, nil))
    }
    // Requests name no movie, so that one alone can be meant.
    let asked = outputs.filter {
      $0[MovieSettings.self].map { $0.isAsked || $0.recordsAtOnce } ?? false
    }
    if asked.count > 1 {
      throw RunError(
        .usage,
        "\(asked[0].id) and \(asked[1].id) are both recorded on request, on a condition or within limits "
          + "(split, longest, keep-free, {n}), and a run has one such movie; leave that out of one",
        change: Kinds.Role.output.path(asked[1].id, nil))
    }
    let stills = outputs.filter { $0[StillSettings.self]?.isOnDemand ?? false }
    if stills.count > 1 {
      throw RunError(
        .usage,
        "\(stills[0].id) and \(stills[1].id) both take stills on demand, and one of a run can; leave that "
          + "out of one", change: Kinds.Role.output.path(stills[1].id, "on-demand"))
    }
  }

  private func check(
    _ movie: MovieSettings, at path: (String) -> SettingPath
  ) throws(RunError) {
    if movie.keep != MovieSettings().keep, movie.when.isEmpty {
      throw RunError(
        .usage, "keep is the time after a condition; give the condition",
        change: path("keep"), path("record-when"))
    }
    if movie.preRoll ?? .zero > .zero, !movie.isAsked {
      throw RunError(
        .usage, "a pre-roll is of movies that are asked for, or recorded on a condition; say so",
        change: path("pre-roll"), path("on-demand"), path("record-when"))
    }
    if movie.preRollMemory != MovieSettings().preRollMemory, movie.usedPreRoll == nil {
      throw RunError(
        .usage, "there is no pre-roll that could take memory; give its time",
        change: path("pre-roll-memory"), path("pre-roll"))
    }
    if !movie.codec.isJPEG, movie.quality != MovieSettings().quality {
      throw RunError(
        .usage,
        "quality is for mjpeg; \(movie.codec.name) has crf, lower is better: crf=20",
        change: path("quality"), path("crf"))
    }
  }

  /// Below it no encoder gives what can be understood (Opus: 6 kbit/s, RFC 6716, section 2.1.1).
  private static var leastBitRate: Int { 6000 }

  private func checkSound() throws(RunError) {
    let names = sound.microphones.map(\.kind)
    if names.contains(SoundParts.none), names.count > 1 {
      throw RunError(
        .usage, "the microphone none is for no sound at all; leave out the others, or none",
        change: .microphone)
    }
    for (index, part) in sound.microphones.enumerated()
    where sound.microphones[..<index].contains(part) {
      throw RunError(
        .usage, "the microphone \(part.kind) is given twice; give each once", change: .microphone)
    }
    if let rate = sound.files.bitRate, rate.bitsPerSecond < Self.leastBitRate {
      throw RunError(
        .usage,
        "\(rate.settingText) is less than \(Self.leastBitRate) bits per second; give, for example, 128k",
        change: SettingPath("sound", "bitrate"))
    }
    if names == [SoundParts.none], let path = sound.wanted {
      throw RunError(
        .usage, "there is to be no sound; leave this out, or the microphone none",
        [path, .microphone])
    }
    // Sinks of others may take sound, too, and a movie may be asked for later.
    guard !takesSound, asking == AskingSettings() else { return }
    let ofMovies = ["codec", "bitrate"]
    let ofAll = sound.files.path.isEmpty ? ["rate", "channels", "correction"] : []
    if let chosen = sound.files.chosen.first(where: { (ofMovies + ofAll).contains($0.name) }) {
      throw RunError(
        .usage,
        "it says how \(ofMovies.contains(chosen.name) && !sound.files.path.isEmpty ? "movies" : "files") "
          + "hold sound, and there is none; record a movie\(sound.files.path.isEmpty ? ", or sound" : "")",
        change: SettingPath("sound", chosen.name))
    }
  }

  /// Whether an output may hold sound in another form than it came.
  public var takesSound: Bool {
    outputs.contains { !Self.silent.contains($0.kind) }
  }

  /// Outputs that hold no sound in another form than it came.
  private static var silent: [String] {
    [
      StillSink.kind.name, DumpSink.kind.name, ReportSink.kind.name, ChecksumSink.kind.name,
      PipeSink.kind.name, ShareSink.kind.name, VirtualSink.kind.name, NullSink.kind.name,
    ]
  }

  /// Throws for what `--source none` has no pictures for.
  private func checkSoundAlone(_ settings: RunSettings) throws(RunError) {
    if sound.microphones.isEmpty {
      throw RunError(
        .usage, "a run without pictures is for sound alone; name a microphone", change: .source)
    }
    let names = [MovieSink.kind.name, StillSink.kind.name]
    if let part = outputs.first(where: { names.contains($0.kind) }) {
      throw RunError(
        .usage, "it is for pictures, and the source none has none; record sound alone",
        change: Kinds.Role.output.path(part.id, nil), .source)
    }
    if settings.frames != nil {
      throw RunError(
        .usage, "frames are pictures, and the source none has none; give a duration",
        change: SettingPath("frames"), .source)
    }
    if !stages.isEmpty {
      throw RunError(
        .usage, "a stage is for pictures, and the source none has none; give an audio stage",
        change: .stage, .source)
    }
  }
}
