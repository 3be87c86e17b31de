public import Sprocket

// What goes with what: one table, so that every door refuses alike.
extension [RunError] {
  /// Adds a sentence about settings that do not go together.
  mutating func note(_ sentence: String, _ settings: SettingPath...) {
    append(RunError(.usage, sentence, settings))
  }
}

extension Run {
  /// All that can be known to be wrong before a device or a file is opened, each with the source that it is
  /// of, if it is of one.
  public func errors(_ kinds: Kinds) -> [(source: Source?, error: RunError)] {
    let resolved = resolved
    var errors = ruleErrors
    errors += RunFiles(resolved).errors(isOutputClosed: false).map { (nil, $0) }
    for source in resolved.sources {
      let pipeline = source.pipeline
      errors += pipeline.parts.flatMap { kinds.errors(of: $1, $0) }.map { (source, $0) }
      errors += pipeline.conditionErrors(kinds).map { (source, $0) }
    }
    return errors
  }

  /// Throws for settings that need another one, or that exclude each other.
  public func check() throws(RunError) {
    guard let (source, error) = ruleErrors.first else { return }
    try source?.naming(in: self) { () throws(RunError) in throw error }
    throw error
  }

  private var ruleErrors: [(source: Source?, error: RunError)] {
    var own = sourceErrors + fileErrors + pairErrors
    if sources.count > 1 { own += nameErrors + deviceErrors }
    return own.map { (nil, $0) }
      + sources.flatMap { source in
        source.pipeline.ruleErrors(settings).map { (source, $0) }
      }
  }

  private var sourceErrors: [RunError] {
    var errors: [RunError] = []
    if sources.count > DumpOutput.mostSources {
      errors.note(
        "a run has at most \(DumpOutput.mostSources) sources",
        .source)
    }
    for (index, source) in sources.enumerated()
    where sources[..<index].contains(where: { $0.label == source.label }) {
      errors.note(
        "two sources are called \(source.label); give each a label of its own",
        .source)
    }
    return errors
  }

  private var fileErrors: [RunError] {
    var errors: [RunError] = []
    if settings.histograms, settings.summary.isEmpty {
      errors.note(
        "histograms are part of a summary; give it a file",
        SettingPath("histograms"), SettingPath("summary"))
    }
    return errors
  }

  private var pairErrors: [RunError] {
    var errors: [RunError] = []
    if !settings.pairs.isEmpty, settings.pair == nil {
      errors.note(
        "pairs need a time that their frames may be apart, such as 5ms",
        SettingPath("pairs"), SettingPath("pair"))
    }
    if settings.pair != nil, sources.count == 1 {
      errors.note(
        "frames are paired of several sources; name a second one",
        SettingPath("pair"), .source)
    }
    return errors
  }

  /// Errors if two sources use the same camera, or the same microphone that allows one reader at a time.
  private var deviceErrors: [RunError] {
    var errors: [RunError] = []
    var known: [String: String] = [:]
    for source in sources {
      let part = source.pipeline.source
      if part == nil || part?.kind == CameraSource.kind.name {
        let name = part?[CameraSettings.self]?.name ?? ""
        if let other = known.updateValue(source.label, forKey: "camera \(name)") {
          errors.note(
            "\(other) and \(source.label) are the same camera, "
              + "\(name.isEmpty ? "the first one" : name); name each, as `sprocket devices` lists them",
            .source)
        }
      }
      for part in source.pipeline.sound.microphones {
        guard let name = part[MicrophoneSettings.self]?.name,
          name.isEmpty || name.contains(/^(plug)?hw:/),
          let other = known.updateValue(source.label, forKey: "microphone \(name)")
        else { continue }
        errors.note(
          "\(other) and \(source.label) hear the same microphone, "
            + "\(name.isEmpty ? "the first one" : name), which takes one reader; give `sound` to one source",
          .microphone)
      }
    }
    return errors
  }

  /// Errors where the sources would write into the same file, or to the same reader.
  private var nameErrors: [RunError] {
    var errors: [RunError] = []
    var known: [String: Int] = [:]
    for (index, source) in sources.enumerated() {
      for part in source.pipeline.outputs {
        if part.kind == PipeSink.kind.name {
          errors.note(
            "a pipe writes to standard output, and there are several sources; share frames instead",
            Kinds.Role.output.path(part.id, nil))
        }
        if let error = part[StillSettings.self].flatMap({ folderError($0, of: part) }) {
          errors.append(error)
        }
        guard part.kind != DumpSink.kind.name else { continue }
        errors += placeErrors(part.settings, index, &known) { Kinds.Role.output.path(part.id, $0) }
      }
      errors += placeErrors(source.pipeline.sound.files, index, &known) { SettingPath("sound", $0) }
      errors += placeErrors(source.pipeline.asking, index, &known) { SettingPath($0) }
    }
    return errors
  }

  private func placeErrors<Settings: KindSettings>(
    _ settings: Settings, _ index: Int, _ known: inout [String: Int],
    at path: (String) -> SettingPath
  ) -> [RunError] {
    var errors: [RunError] = []
    for setting in Settings.settings where setting.places.contains("source") {
      let name = setting.read(from: settings)
      guard !name.isEmpty, !OutputName(name).places.contains("source") else { continue }
      guard let other = known.updateValue(index, forKey: "\(path(setting.name)) \(name)"),
        other != index
      else { continue }
      errors.note(
        FileIdentity.isStandardOutput(name)
          ? "standard output takes the output of one source; give files, with {source} in their names"
          : "\(name) is of several sources; put {source} into its name, which stands for each source's label",
        path(setting.name))
    }
    return errors
  }

  /// Two runs cannot share a folder of stills.
  private func folderError(_ stills: StillSettings, of part: Part) -> RunError? {
    let folders = ["a", "b"].map {
      StillSink.folder(of: stills.path.filled("source", with: $0).settingText)
    }
    guard folders[0] == folders[1], stills.path.places.contains("source") else { return nil }
    return RunError(
      .usage,
      "\(folders[0]): each of several sources needs a folder of its own; put {source} into the folder's "
        + "name, as in shots/{source}/{n}.jpg", change: Kinds.Role.output.path(part.id, nil))
  }
}
