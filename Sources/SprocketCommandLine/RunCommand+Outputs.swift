internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

// The outputs of one source that the options describe.
extension RunCommand {
  /// Applies the options to what a source has besides.
  func addOutputs(to source: inout Run.Source, _ kinds: Kinds) throws(RunError) {
    var outputs = source.pipeline.outputs
    let described = outputs.count
    var replaced: Set<Int> = []
    for (kind, texts) in try namedOutputs(kinds) {
      // Another output of the file's, of that kind: its settings stay where the option says nothing of them.
      let known = outputs[..<described].indices.first {
        outputs[$0].kind == kind.name && !replaced.contains($0)
      }
      guard let known else {
        outputs.append(Part(kind.name, try kind.settings(texts)))
        continue
      }
      replaced.insert(known)
      outputs[known].settings = try kind.settings(texts, from: outputs[known].settings)
    }
    if pipeHeader {
      guard let index = outputs.firstIndex(where: { $0.kind == PipeSink.kind.name }) else {
        throw RunError(.usage, "--pipe-header is about --pipe; add --pipe rgb, for example")
      }
      outputs[index][PipeSettings.self]?.header = true
    }
    try refuseUseless(outputs, source.pipeline)
    for index in outputs.indices {
      if recording.codec != nil, var movie = outputs[index][MovieSettings.self] {
        // What the file says of another codec is not for this one.
        (movie.codec, movie.quality) = (MovieCodec(), MovieSettings().quality)
        outputs[index][MovieSettings.self] = movie
      }
      let texts = try recording.texts(for: outputs[index], asked: outputs, controllers)
      guard !texts.isEmpty else { continue }
      outputs[index].settings = try kinds.kind(outputs[index].kind, .output).settings(
        texts, from: outputs[index].settings)
    }
    source.pipeline.outputs = outputs
    if recording.sync != nil, !source.pipeline.sound.files.path.isEmpty {
      source.pipeline.sound.files.sync = recording.sync
    }
    if let path = asking.controlSocket {
      source.pipeline.asking.controlSocket = try outputName(path, "--control-socket")
    }
    if let path = asking.script {
      guard !path.isEmpty else {
        throw RunError(.usage, "--script is given an empty name; give the name of a file")
      }
      source.pipeline.asking.script = InputName(filled(path, source.label))
    }
  }

  /// The outputs that options name, in the order of the help, and their settings as they are given.
  private func namedOutputs(
    _ kinds: Kinds
  ) throws(RunError) -> [(kind: SinkKind, texts: [String: String])] {
    var outputs: [(SinkKind, [String: String])] = []
    let files = [
      ("--movie", MovieSink.kind, recording.movie), ("--stills", StillSink.kind, recording.stills),
      ("--dump", DumpSink.kind, recording.dump), ("--reports", ReportSink.kind, reports),
      ("--checksums", ChecksumSink.kind, checksums),
    ]
    for (option, kind, path) in files {
      guard let path else { continue }
      _ = try outputName(path, option)
      outputs.append((kind, ["path": path]))
    }
    if checksum, checksums == nil { outputs.append((ChecksumSink.kind, [:])) }
    if let pipe {
      var (layout, values) = try nameAndValues(pipe, option: "--pipe")
      values["layout"] = layout
      outputs.append((PipeSink.kind, values))
    }
    for text in share { outputs.append((ShareSink.kind, try kinds.share(text))) }
    if let virtual { outputs.append((VirtualSink.kind, try kinds.virtual(virtual))) }
    for text in sink { outputs.append(try kinds.sinkTexts(text)) }
    if null { outputs.append((NullSink.kind, [:])) }
    return outputs
  }

  /// Throws for an option about an output that is not there.
  private func refuseUseless(_ outputs: [Part], _ pipeline: Pipeline) throws(RunError) {
    let kinds = outputs.map(\.kind)
    for need in recording.needs where need.isGiven {
      let isThere = need.kinds.contains { kinds.contains($0) }
      guard !isThere, need.option != "--sync" || pipeline.sound.files.path.isEmpty else { continue }
      let names = need.kinds.map { "--\($0)" } + (need.option == "--sync" ? ["--sound"] : [])
      let all = names.dropLast().joined(separator: ", ") + (names.count > 1 ? " and " : "")
      throw RunError(
        .usage,
        "\(need.option) is for \(all)\(names[names.count - 1]); add "
          + (names.count > 1
            ? "one of them" : "\(names[0]) \(need.kinds == ["stills"] ? "FOLDER" : "PATH")")
      )
    }
  }
}

extension RecordingOptions {
  /// Options that say something of outputs, and of which.
  var needs: [(option: String, isGiven: Bool, kinds: [String])] {
    let (movie, stills) = (["movie"], ["stills"])
    return [
      ("--every", every != nil, stills), ("--stills-sharpest", stillsSharpest != nil, stills),
      ("--quality", quality != nil, movie + stills), ("--codec", codec != nil, movie),
      ("--movie-reports", movieReports, movie), ("--on-demand", onDemand, movie + stills),
      ("--record-when", recordWhen != nil, movie), ("--keep", keep != nil, movie),
      ("--pre-roll", preRoll != nil, movie), ("--pre-roll-memory", preRollMemory != nil, movie),
      ("--split", split != nil, movie), ("--longest", longest != nil, movie),
      ("--keep-free", keepFree != nil, movie),
      ("--sync", sync != nil, movie + ["dump", "reports"]),
    ]
  }

  /// What the options say of an output of that kind, as texts of its settings.
  func texts(
    for part: Part, asked outputs: [Part], _ controllers: ControllerOptions
  ) throws(RunError) -> [String: String] {
    var texts: [String: String?] = [:]
    let isAsked = onDemand ? true.settingText : nil
    switch part.kind {
    case MovieSink.kind.name:
      texts = try codecTexts.mapValues { $0 }
      let codec = texts["codec"] ?? part[MovieSettings.self]?.codec.name
      if codec == MovieCodec().name {
        if let quality { texts["quality"] = quality.settingText }
      } else if quality != nil, !outputs.contains(where: { $0.kind == StillSink.kind.name }) {
        throw RunError(
          .usage,
          "--quality is for mjpeg and stills; \(codec ?? "") has crf, lower is better: --codec "
            + "\(codec ?? ""):crf=20")
      }
      texts["reports"] = movieReports ? true.settingText : nil
      texts["on-demand"] = isAsked
      texts["split"] = split?.settingText
      texts["longest"] = longest?.settingText
      texts["keep-free"] = keepFree?.settingText
      texts["pre-roll"] = preRoll?.settingText
      texts["pre-roll-memory"] = preRollMemory?.settingText
      texts["record-when"] = recordWhen
      texts["keep"] = keep?.settingText
      texts["sync"] = sync?.settingText
    case StillSink.kind.name:
      texts = [
        "every": every?.settingText, "sharpest": stillsSharpest?.settingText,
        "quality": quality?.settingText, "when": controllers.stillCondition, "on-demand": isAsked,
      ]
    case DumpSink.kind.name, ReportSink.kind.name: texts = ["sync": sync?.settingText]
    default: break
    }
    return texts.compactMapValues(\.self)
  }

  /// Settings of the movie that --codec gives.
  private var codecTexts: [String: String] {
    get throws(RunError) {
      guard let codec else { return [:] }
      var (name, values) = try nameAndValues(codec, option: "--codec")
      if name != MovieCodec().name, values["quality"] != nil {
        throw RunError(
          .usage,
          "--codec \(codec): quality is for mjpeg; \(name) has crf, lower is better: \(name):crf=20"
        )
      }
      values["codec"] = name
      return values
    }
  }
}

// The options that are about sound.
extension SoundOptions {
  /// Throws for a microphone of a source that is not there.
  func checkLabels(_ labels: [String]) throws(RunError) {
    for name in microphone {
      if let owner = SourceLabel.label(of: name), isOfSource(name, labels) {
        try SourceLabels(labels: labels).check(owner, "--microphone \(name)")
      }
    }
  }

  /// Applies the options to a source: microphones with its label (`LABEL=NAME`); those without one are of the
  /// first source, and `none` is for all.
  func add(to source: inout Run.Source, among labels: [String], _ kinds: Kinds) throws(RunError) {
    let own = microphone.compactMap { name -> String? in
      guard let owner = SourceLabel.label(of: name), isOfSource(name, labels) else {
        return source.label == labels[0] || name == SoundParts.none ? name : nil
      }
      return owner == source.label ? String(name.dropFirst(owner.count + 1)) : nil
    }
    var sound = source.pipeline.sound
    if !own.isEmpty {
      sound.microphones = try own.map { (text) throws(RunError) in try kinds.microphone(text) }
    }
    // Files may have sound of their own.
    let kind = source.pipeline.source?.kind ?? ""
    let isSilent =
      sound.microphones.isEmpty && !microphone.isEmpty && !["file", "replay"].contains(kind)
    guard !isSilent else { return }
    if !audioStage.isEmpty {
      sound.stages = try audioStage.map { (text) throws(RunError) in try kinds.audioStage(text) }
    }
    if let path = self.sound { sound.files.path = try outputName(path, "--sound") }
    if let levels { sound.files.levels = try outputName(levels, "--levels") }
    sound.files.rate = audioRate ?? sound.files.rate
    sound.files.channels = audioChannels ?? sound.files.channels
    sound.files.codec = audioCodec ?? sound.files.codec
    sound.files.bitRate = audioBitrate ?? sound.files.bitRate
    sound.files.correction = audioSync ?? sound.files.correction
    source.pipeline.sound = sound
  }

  /// Whether what stands before `=` is a label: of several sources, or the one's own.
  private func isOfSource(_ name: String, _ labels: [String]) -> Bool {
    labels.count > 1 || name.hasPrefix("\(labels[0])=")
  }
}
