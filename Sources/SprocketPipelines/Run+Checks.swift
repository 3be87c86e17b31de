public import Sprocket

// What goes with what: one table, so that every door refuses alike.
/// What settings have to be together.
struct Rule {
  /// The source whose settings they are; `nil` for the run's.
  var source: Run.Source?
  /// Throws where they are not.
  let check: () throws(RunError) -> Void
}

extension Run {
  /// All that can be known to be wrong before a device or a file is opened, each with the source that it is
  /// of, if it is of one.
  public func errors(_ kinds: Kinds) -> [(source: Source?, error: RunError)] {
    var errors: [(source: Source?, error: RunError)] = []
    func note(_ source: Source?, _ rule: () throws(RunError) -> Void) {
      do throws(RunError) { try rule() } catch { errors.append((source, error)) }
    }
    for rule in rules { note(rule.source, rule.check) }
    let resolved = resolved
    note(nil) { () throws(RunError) in try RunFiles(resolved).check(isOutputClosed: false) }
    for source in resolved.sources {
      for (role, part) in source.pipeline.parts {
        note(source) { () throws(RunError) in try kinds.check(part, role) }
      }
      for error in source.pipeline.conditionErrors(kinds) { errors.append((source, error)) }
    }
    return errors
  }

  /// Throws for settings that need another one, or that exclude each other.
  public func check() throws(RunError) {
    for rule in rules {
      if let source = rule.source {
        try source.naming(in: self, rule.check)
      } else {
        try rule.check()
      }
    }
  }

  private var rules: [Rule] {
    var rules = [Rule(check: checkSources), Rule(check: checkFiles), Rule(check: checkPairs)]
    for source in sources {
      for rule in source.pipeline.rules(settings) {
        rules.append(Rule(source: source, check: rule.check))
      }
    }
    if sources.count > 1 {
      rules += nameErrors.map { error in Rule { () throws(RunError) in throw error } }
      rules.append(Rule(check: checkDevices))
    }
    return rules
  }

  private func checkSources() throws(RunError) {
    guard sources.count <= DumpOutput.mostSources else {
      throw RunError(.usage, "a run has at most \(DumpOutput.mostSources) sources", change: .source)
    }
    for (index, source) in sources.enumerated()
    where sources[..<index].contains(where: { $0.label == source.label }) {
      throw RunError(
        .usage, "two sources are called \(source.label); give each a label of its own",
        change: .source)
    }
  }

  private func checkFiles() throws(RunError) {
    if settings.histograms, settings.summary.isEmpty {
      throw RunError(
        .usage, "histograms are part of a summary; give it a file",
        change: SettingPath("histograms"), SettingPath("summary"))
    }
  }

  private func checkPairs() throws(RunError) {
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
  }

  /// Throws if two sources use the same camera, or the same microphone that allows one reader at a time.
  private func checkDevices() throws(RunError) {
    var known: [String: String] = [:]
    for source in sources {
      let part = source.pipeline.source
      if part == nil || part?.kind == CameraSource.kind.name {
        let name = part?[CameraSettings.self]?.name ?? ""
        if let other = known.updateValue(source.label, forKey: "camera \(name)") {
          throw RunError(
            .usage,
            "\(other) and \(source.label) are the same camera, "
              + "\(name.isEmpty ? "the first one" : name); name each, as `sprocket devices` lists them",
            change: .source)
        }
      }
      for part in source.pipeline.sound.microphones {
        guard let name = part[MicrophoneSettings.self]?.name,
          name.isEmpty || name.contains(/^(plug)?hw:/),
          let other = known.updateValue(source.label, forKey: "microphone \(name)")
        else { continue }
        throw RunError(
          .usage,
          "\(other) and \(source.label) hear the same microphone, "
            + "\(name.isEmpty ? "the first one" : name), which takes one reader; give `sound` to one source",
          change: .microphone)
      }
    }
  }

  /// Errors where the sources would write into the same file, or to the same reader.
  private var nameErrors: [RunError] {
    var errors: [RunError] = []
    var known: [String: Int] = [:]
    for (index, source) in sources.enumerated() {
      for part in source.pipeline.outputs {
        if part.kind == PipeSink.kind.name {
          errors.append(
            RunError(
              .usage,
              "a pipe writes to standard output, and there are several sources; share frames instead",
              change: Kinds.Role.output.path(part.id, nil)))
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
      errors.append(
        RunError(
          .usage,
          "\(name) is of several sources; put {source} into its name, which stands for each source's label",
          change: path(setting.name)))
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
