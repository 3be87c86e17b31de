public import Sprocket

// What goes with what: one table, so that every door refuses alike.
extension Run {
  /// Throws for all that can be known to be wrong before a device or a file is opened.
  public func check(_ kinds: Kinds) throws(RunError) {
    try check()
    try RunFiles(resolved).check(isOutputClosed: false)
    for source in sources {
      try source.naming(in: self) { () throws(RunError) in
        try source.pipeline.checkConditions(kinds)
      }
    }
  }

  /// Throws for settings that need another one, or that exclude each other.
  func check() throws(RunError) {
    guard sources.count <= DumpOutput.mostSources else {
      throw RunError(.usage, "a run has at most \(DumpOutput.mostSources) sources", change: .source)
    }
    for (index, source) in sources.enumerated()
    where sources[..<index].contains(where: { $0.label == source.label }) {
      throw RunError(
        .usage, "two sources are called \(source.label); give each a label of its own",
        change: .source)
    }
    if settings.histograms, settings.summary.isEmpty {
      throw RunError(
        .usage, "histograms are part of a summary; give it a file",
        change: SettingPath("histograms"), SettingPath("summary"))
    }
    if !settings.pairs.isEmpty, settings.pair == nil {
      throw RunError(
        .usage, "pairs need a time that their frames may be apart, such as 5ms",
        change: SettingPath("pairs"), SettingPath("pair"))
    }
    if settings.pair != nil, sources.count == 1 {
      throw RunError(
        .usage, "frames are paired of several sources; name a second one",
        change: SettingPath("pair"), .source)
    }
    for source in sources {
      try source.naming(in: self) { () throws(RunError) in try source.pipeline.check(settings) }
    }
    if sources.count > 1 { try checkNames() }
  }

  /// Throws where the sources would write into the same file, or to the same reader.
  private func checkNames() throws(RunError) {
    var known: [String: Int] = [:]
    for (index, source) in sources.enumerated() {
      for part in source.pipeline.outputs {
        if part.kind == PipeSink.kind.name {
          throw RunError(
            .usage,
            "a pipe writes to standard output, and there are several sources; share frames instead",
            change: Kinds.Role.output.path(part.id, nil))
        }
        if let stills = part[StillSettings.self] { try check(stills, of: part) }
        guard part.kind != DumpSink.kind.name else { continue }
        try checkPlaces(part.settings, index, &known) { Kinds.Role.output.path(part.id, $0) }
      }
      try checkPlaces(source.pipeline.sound.files, index, &known) { SettingPath("sound", $0) }
      try checkPlaces(source.pipeline.asking, index, &known) { SettingPath($0) }
    }
  }

  private func checkPlaces<Settings: KindSettings>(
    _ settings: Settings, _ index: Int, _ known: inout [String: Int],
    at path: (String) -> SettingPath
  ) throws(RunError) {
    for setting in Settings.settings where setting.places.contains("source") {
      let name = setting.read(from: settings)
      guard !name.isEmpty, !name.contains("{source}") else { continue }
      guard let other = known.updateValue(index, forKey: "\(path(setting.name)) \(name)"),
        other != index
      else { continue }
      throw RunError(
        .usage,
        "\(name) is of several sources; put {source} into its name, which stands for each source's label",
        change: path(setting.name))
    }
  }

  /// Two runs cannot share a folder of stills.
  private func check(_ stills: StillSettings, of part: Part) throws(RunError) {
    let folders = ["a", "b"].map {
      StillSink.folder(of: stills.path.filled("source", with: $0).settingText)
    }
    guard folders[0] == folders[1], stills.path.places.contains("source") else { return }
    throw RunError(
      .usage,
      "\(folders[0]): each of several sources needs a folder of its own; put {source} into the folder's "
        + "name, as in shots/{source}/{n}.jpg", change: Kinds.Role.output.path(part.id, nil))
  }
}

extension Pipeline {
  /// Throws for conditions on reports that the chain does not make.
  fileprivate func checkConditions(_ kinds: Kinds) throws(RunError) {
    let stages = try stages.map { (part) throws(RunError) in try kinds.choice(part).plugin }
    var conditions = [(asking.until, SettingPath("until"))]
    for part in outputs {
      let path = SettingPath(
        "outputs", part.id, part.kind == StillSink.kind.name ? "when" : "record-when")
      conditions.append(
        (part[MovieSettings.self]?.when ?? part[StillSettings.self]?.when ?? "", path))
    }
    for (condition, path) in conditions where !condition.isEmpty {
      do throws(RunError) { try TriggerSink.check(condition, of: stages) } catch {
        throw RunError(error.code, error.description, [path])
      }
    }
  }

  fileprivate func check(_ settings: RunSettings) throws(RunError) {
    for (index, part) in outputs.enumerated()
    where outputs[..<index].contains(where: { $0.id == part.id }) {
      throw RunError(
        .usage, "two outputs are called \(part.id); give each a name of its own",
        change: Kinds.Role.output.path(part.id, nil))
    }
    for part in outputs {
      if let movie = part[MovieSettings.self] { try check(movie) { .init("outputs", part.id, $0) } }
    }
    try checkSound()
    if source?.kind == EmptySource.kind.name { try checkSoundAlone(settings) }
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
    let takers = outputs.filter { !Self.silent.contains($0.kind) }
    guard takers.isEmpty, asking == AskingSettings() else { return }
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

  /// Outputs that hold no sound in another form than it came.
  private static var silent: [String] {
    [
      StillSink.kind.name, DumpSink.kind.name, ReportSink.kind.name, ChecksumSink.kind.name,
      PipeSink.kind.name, ShareSink.kind.name, VirtualSink.kind.name, NullSink.kind.name,
    ]
  }

  /// Throws for what `--source none` has no pictures for.
  private func checkSoundAlone(_ settings: RunSettings) throws(RunError) {
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
