internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

// The outputs of one source that the options describe.
extension RunCommand {
  /// Applies the options to what a source has besides. `used` gets the names of those that found an output.
  func addOutputs(
    to source: inout Run.Source, _ kinds: Kinds, used: inout Set<String>
  ) throws(RunError) {
    var outputs = source.pipeline.outputs
    let named = try addNamed(to: &outputs, kinds)
    if self.outputs.pipeHeader {
      guard let index = outputs.firstIndex(where: { $0.kind == PipeSink.kind.name }) else {
        throw RunError(.usage, "--pipe-header is about --pipe; add --pipe rgb, for example")
      }
      outputs[index][PipeSettings.self]?.header = true
    }
    for option in OutputOption.all {
      guard let text = option.text(self) else { continue }
      for index in option.targets(among: outputs, named: named) {
        try set(option, to: text, of: &outputs[index], kinds)
        used.insert(option.name)
      }
    }
    source.pipeline.outputs = outputs
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

  /// Throws for an option about outputs that are in no source. A bracket may be without stills.
  func checkUse(_ used: Set<String>) throws(RunError) {
    let useless = OutputOption.all.first {
      $0.text(self) != nil && !used.contains($0.name) && $0.name != "bracket"
    }
    if let useless { throw useless.useless }
  }

  private func set(
    _ option: OutputOption, to text: String, of part: inout Part, _ kinds: Kinds
  ) throws(RunError) {
    // In a file an empty condition is none.
    if option.name == "record-when", text.isEmpty { try TriggerSink.check(text, of: []) }
    var texts = [option.setting: text]
    if option.name == "codec" {
      let (name, values) = try nameAndValues(text, option: "--codec")
      texts = values.merging(["codec": name]) { $1 }
      // What the file says of another codec is not for this one.
      part[MovieSettings.self]?.codec = MovieCodec()
      part[MovieSettings.self]?.quality = nil
    }
    part.settings = try kinds.kind(part.kind, .output).settings(texts, from: part.settings)
  }

  /// An output that an option names, and its settings as they are given.
  private struct NamedOutput {
    let kind: SinkKind
    var texts: [String: String] = [:]
    /// An option of its kind names it, and not `--sink`.
    var isOwn = true
    /// The option may be repeated: all outputs of a kind are a list, which it replaces.
    var isListed: Bool { !isAdded && (!isOwn || kind.name == ShareSink.kind.name) }
    /// A socket that another program gave is for that program, whatever a file has besides.
    var isAdded: Bool {
      kind.name == ShareSink.kind.name && texts["name"]?.hasPrefix("fd:") == true
    }
  }

  /// Adds the outputs that options name. Each takes the place of the next output of its kind that a file has,
  /// whose settings stay where the option says nothing of them. Returns the numbers of those that are named,
  /// and whether an option of their own names them.
  private func addNamed(to outputs: inout [Part], _ kinds: Kinds) throws(RunError) -> [Int: Bool] {
    let given = try namedOutputs(kinds)
    for kind in Set(given.filter(\.isListed).map(\.kind.name)) {
      let count = given.count { $0.kind.name == kind && !$0.isAdded }
      let surplus = outputs.filter { $0.kind == kind }.dropFirst(count).map(\.id)
      outputs.removeAll { surplus.contains($0.id) }
    }
    let described = outputs.count
    var named: [Int: Bool] = [:]
    for output in given {
      let name = output.kind.name
      let known = outputs[..<described].indices.first {
        !output.isAdded && outputs[$0].kind == name && named[$0] == nil
      }
      named[known ?? outputs.count] = output.isOwn
      if let known {
        outputs[known].settings = try output.kind.settings(
          output.texts, from: outputs[known].settings)
        continue
      }
      let ids = (1...).lazy.map { $0 == 1 ? name : "\(name)\($0)" }
      let id = ids.first { outputs[$0] == nil }
      outputs.append(Part(name, id: id, try output.kind.settings(output.texts)))
    }
    return named
  }

  /// The outputs that options name, in the order of the help.
  private func namedOutputs(_ kinds: Kinds) throws(RunError) -> [NamedOutput] {
    var outputs: [NamedOutput] = []
    let files = [
      ("--movie", MovieSink.kind, recording.movie), ("--stills", StillSink.kind, recording.stills),
      ("--dump", DumpSink.kind, recording.dump),
      ("--reports", ReportSink.kind, self.outputs.reports),
      ("--checksums", ChecksumSink.kind, self.outputs.checksums),
    ]
    for (option, kind, path) in files {
      guard let path else { continue }
      _ = try outputName(path, option)
      outputs.append(NamedOutput(kind: kind, texts: ["path": path]))
    }
    if self.outputs.checksum, self.outputs.checksums == nil {
      outputs.append(NamedOutput(kind: ChecksumSink.kind))
    }
    if let pipe = self.outputs.pipe {
      var (layout, values) = try nameAndValues(pipe, option: "--pipe")
      values["layout"] = layout
      outputs.append(NamedOutput(kind: PipeSink.kind, texts: values))
    }
    for text in self.outputs.share {
      outputs.append(NamedOutput(kind: ShareSink.kind, texts: try kinds.share(text)))
    }
    if let virtual = self.outputs.virtual {
      outputs.append(NamedOutput(kind: VirtualSink.kind, texts: try kinds.virtual(virtual)))
    }
    if let page = self.outputs.page {
      outputs.append(NamedOutput(kind: PageSink.kind, texts: try kinds.page(page)))
    }
    for text in self.outputs.sink {
      let (kind, texts) = try kinds.sinkTexts(text)
      outputs.append(NamedOutput(kind: kind, texts: texts, isOwn: false))
    }
    if self.outputs.null { outputs.append(NamedOutput(kind: NullSink.kind)) }
    return outputs
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
  /// first source, and `none` is for all. How files hold sound is for sources that have such files, if one of
  /// the run has (`hasSound`).
  func add(
    to source: inout Run.Source, among labels: [String], hasSound: Bool, _ kinds: Kinds
  ) throws(RunError) {
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
    source.pipeline.sound = sound
    guard source.pipeline.holdsSound || !hasSound else { return }
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
