internal import Sprocket

/// The command of one source of a run.
struct RunPart {
  let label: String
  let command: RunCommand

  /// Does something for the source. Its label stands before errors, where there are several sources.
  func naming<Result>(
    among parts: [RunPart], _ body: () throws(RunError) -> Result
  ) throws(RunError) -> Result {
    do throws(RunError) {
      return try body()
    } catch {
      if parts.count == 1 { throw error }
      throw RunError(error.code, "\(label): \(error.description)", error.settings)
    }
  }
}

// What of the options is each source's.
extension RunCommand {
  /// Stands for the label in names of files.
  static let place = "{source}"

  /// One command for each source, as if it ran alone.
  func parts() throws(RunError) -> [RunPart] {
    let sources = try SourceLabel.all(source.isEmpty ? [Self.usualSource] : source)
    let labels = SourceLabels(labels: sources.map(\.label))
    if sources.count > DumpOutput.mostSources {
      throw RunError(.usage, "a run has at most \(DumpOutput.mostSources) sources", change: .source)
    }
    if sources.count > 1 {
      try checkPlaces()
    } else if pairing.tolerance != nil {
      throw RunError(.usage, "--pair is for several sources; add a second --source")
    }
    var parts: [RunPart] = []
    let kinds = sources.map { $0.source.prefix { $0 != ":" } }
    for source in sources {
      var part = self
      let label = source.label
      part.source = [source.source]
      part.format =
        try labels.value(format, of: label, option: "--format").map { [Labelled($0)] } ?? []
      part.size = try labels.value(size, of: label, option: "--size").map { [Labelled($0)] } ?? []
      part.rate = try labels.value(rate, of: label, option: "--rate").map { [Labelled($0)] } ?? []
      part.sourceSet = try labels.pairs(sourceSet, of: label, option: "--source-set")
      part.control = try labels.pairs(control, of: label, option: "--control")
      part.sound = try sound.part(label, among: labels.labels, source: source.source)
      part.fill(label)
      // Where they fit one of the sources, they are for those that they fit.
      let kind = source.source.prefix { $0 != ":" }
      if kinds.contains("camera"), kind != "camera" {
        (part.onUnplug, part.controls) = (nil, nil)
      }
      if kinds.contains(where: Self.hasTimes), !Self.hasTimes(kind) { part.from = nil }
      if sources.count > 1 {
        part.workers = workers ?? max(1, processorCount() / sources.count)
        part.memory = memory.map { $0 / sources.count }
      }
      parts.append(RunPart(label: label, command: part))
    }
    return parts
  }

  /// Whether sources of that kind have times to begin at.
  private static func hasTimes(_ kind: Substring) -> Bool { ["file", "replay"].contains(kind) }

  /// The dump that all sources share; `nil` where each has its own, or there is none.
  func sharedDump(_ sources: Int) -> DumpOutput? {
    guard sources > 1, let path = recording.dump, !path.contains(Self.place) else { return nil }
    return DumpOutput(path: path, overwrite: overwrite, sources: sources)
  }

  /// Throws where the name of a movie or dump has a place that nothing is put into, such as `{sourec}`.
  func checkNamedPlaces() throws(RunError) {
    let files = [
      ("--movie", recording.movie, [Self.place, MovieSink.place]),
      ("--dump", recording.dump, [Self.place]),
    ]
    for case (let option, let path?, let known) in files {
      for found in path.matches(of: /\{[A-Za-z_]+\}/) where !known.contains(String(found.output)) {
        throw RunError(
          .usage,
          "\(option) \(path): a name has no place \(found.output); "
            + knownNames(known, near: String(found.output)))
      }
    }
  }

  private mutating func fill(_ label: String) {
    func filled(_ text: String) -> String { text.replacing(Self.place, with: label) }
    recording.movie = recording.movie.map(filled)
    recording.stills = recording.stills.map(filled)
    recording.dump = recording.dump.map(filled)
    reports = reports.map(filled)
    checksums = checksums.map(filled)
    asking.controlSocket = asking.controlSocket.map(filled)
    asking.script = asking.script.map(filled)
    sound.sound = sound.sound.map(filled)
    sound.levels = sound.levels.map(filled)
    share = share.map(filled)
    virtual = virtual.map(filled)
    sink = sink.map(filled)
    stage = stage.map(filled)
    sourceSet = sourceSet.map(filled)
    controls = controls.map(filled)
  }

  /// Throws where the sources would write into the same file, or one file has a name for each source.
  private func checkPlaces() throws(RunError) {
    if let pipe {
      throw RunError(
        .usage,
        "--pipe \(pipe) writes to standard output, and there are several sources; give --share "
          + "\(Self.place) instead")
    }
    let own: [(option: String, text: String?)] =
      [
        ("--movie", recording.movie), ("--stills", recording.stills), ("--reports", reports),
        ("--checksums", checksums), ("--control-socket", asking.controlSocket),
        ("--virtual", virtual),
      ] + share.map { ("--share", $0) } + sink.filter { $0.contains(":") }.map { ("--sink", $0) }
    // Two runs cannot share a folder of stills.
    let folder = recording.stills.flatMap { path in
      let folders = ["a", "b"].map { StillSink.folder(of: path.replacing(Self.place, with: $0)) }
      return folders[0] == folders[1] && path.contains(Self.place) ? folders[0] : nil
    }
    if let folder {
      throw RunError(
        .usage,
        "--stills \(folder): each of several sources needs a folder of its own; put \(Self.place) into the "
          + "folder's name, as in shots/\(Self.place)/{n}.jpg")
    }
    for case (let option, let text?) in own
    where !text.contains(Self.place) {
      throw RunError(
        .usage,
        "\(option) \(text) is of several sources; put \(Self.place) into its name, which stands for each "
          + "source's label")
    }
    let shared = [("--summary", summary), ("--trace", trace), ("--pairs", pairing.path)]
    for case (let option, let text?) in shared
    where text.contains(Self.place) {
      throw RunError(
        .usage, "\(option) is one file of all sources; leave \(Self.place) out of its name")
    }
  }
}

extension SoundOptions {
  /// The sound of one source: microphones with its label (`LABEL=NAME`); those without one are of the first
  /// source. `none` is for all.
  func part(
    _ label: String, among labels: [String], source: String
  ) throws(RunError) -> SoundOptions {
    guard labels.count > 1 || microphone.contains(where: { $0.hasPrefix("\(label)=") }) else {
      return self
    }
    for name in microphone {
      if let owner = SourceLabel.label(of: name) {
        try SourceLabels(labels: labels).check(owner, "--microphone \(name)")
      }
    }
    var part = self
    part.microphone = microphone.compactMap { name in
      let owner = SourceLabel.label(of: name)
      guard let owner else { return label == labels[0] || name == "none" ? name : nil }
      return owner == label ? String(name.dropFirst(label.count + 1)) : nil
    }
    // Files may have sound of their own.
    let hasNone =
      part.microphone.isEmpty && !["file", "replay"].contains(source.prefix { $0 != ":" })
    guard hasNone, !microphone.isEmpty else { return part }
    (part.sound, part.levels, part.audioStage) = (nil, nil, [])
    (part.audioRate, part.audioChannels, part.audioSync) = (nil, nil, nil)
    (part.audioCodec, part.audioBitrate) = (nil, nil)
    return part
  }
}
