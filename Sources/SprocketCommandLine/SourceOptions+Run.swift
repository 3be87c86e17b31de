internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

// The sources that the options name, and what of the options is each source's.
extension SourceOptions {
  /// Applies the options to the sources of a run, which come from a file or are none.
  func addSources(to run: inout Run, _ kinds: Kinds) throws(RunError) {
    let given = try SourceLabel.all(source)
    if !given.isEmpty, run.sources.count > 1 {
      // Each replaces the source of its label.
      try SourceLabels(labels: run.sources.map(\.label)).check(given.map(\.label), "--source")
    } else if !given.isEmpty {
      let before = run.sources[0]
      run.sources = given.map { Run.Source($0.label, before.pipeline) }
      // The label of the file is that of its one source, whatever the source is.
      if given.count == 1, !given[0].isGiven, !before.hasUsualLabel {
        run.sources[0].label = before.label
      }
    } else if run.sources.count == 1, run.sources[0].pipeline.source == nil,
      run.sources[0].label == Run().sources[0].label
    {
      run.sources[0].label = Pipeline.usualSource.kind
    }
    let labels = SourceLabels(labels: run.sources.map(\.label))
    // Where options fit one of the sources, they are for those that they fit.
    let texts =
      run.sources.count == 1
      ? [given.first?.source]
      : run.sources.map { source in given.first { $0.label == source.label }?.source }
    let names = zip(run.sources, texts).map { source, text in
      text.map { String($0.prefix { $0 != ":" }) } ?? source.pipeline.source?.kind
        ?? Pipeline.usualSource.kind
    }
    let fit = SourceFit(
      hasCamera: names.contains("camera"), hasTimes: names.contains { hasTimes($0, kinds) })
    for index in run.sources.indices {
      if texts[index] != nil { run.sources[index].pipeline.controls = [] }
      try addSource(texts[index], to: index, of: &run, labels, fit, kinds)
    }
  }

  /// What some source of a run is.
  struct SourceFit {
    let hasCamera, hasTimes: Bool
  }

  /// Whether sources of that kind have times to begin at.
  private func hasTimes(_ kind: String, _ kinds: Kinds) -> Bool {
    kinds.source(named: kind)?.settingNames.contains("from") == true
  }

  private func addSource(
    _ text: String?, to index: Int, of run: inout Run, _ labels: SourceLabels, _ fit: SourceFit,
    _ kinds: Kinds
  ) throws(RunError) {
    var source = run.sources[index]
    let label = source.label
    let pairs = try labels.pairs(sourceSet, of: label, option: "--source-set")
    var values = try keyValues(pairs.map { filled($0, label) }, option: "--source-set")
    let kind =
      text.map { String($0.prefix { $0 != ":" }) } ?? source.pipeline.source?.kind
      ?? Pipeline.usualSource.kind
    try addOptions(to: &values, kind, fit, label, kinds)
    source.pipeline.source = try source.naming(in: run) { () throws(RunError) in
      if let text { return try kinds.source(text, values) }
      guard !values.isEmpty else { return source.pipeline.source }
      var part = source.pipeline.source ?? Pipeline.usualSource
      part.settings = try kinds.kind(part.kind, .source).settings(values, from: part.settings)
      return part
    }
    var format = source.pipeline.format
    if let text = try labels.value(self.format, of: label, option: "--format") {
      format.format = try PixelFormat(option: text)
    }
    format.size = try labels.value(size, of: label, option: "--size") ?? format.size
    format.rate = try labels.value(rate, of: label, option: "--rate") ?? format.rate
    source.pipeline.format = format
    let controls = try labels.pairs(control, of: label, option: "--control")
    _ = try keyValues(controls, option: "--control")
    if !controls.isEmpty {
      // The order stays as it was given: independent controls are written one after the other.
      source.pipeline.controls = controls.map { pair in
        let name = pair.prefix { $0 != "=" }
        return ControlWish(String(name), String(pair.dropFirst(name.count + 1)))
      }
    }
    run.sources[index] = source
  }

  /// Adds what options of their own say of a source.
  private func addOptions(
    to values: inout [String: String], _ kind: String, _ fit: SourceFit, _ label: String,
    _ kinds: Kinds
  ) throws(RunError) {
    func add(_ text: String?, _ setting: String, _ option: String) throws(RunError) {
      guard let text else { return }
      guard values.updateValue(text, forKey: setting) == nil else {
        throw RunError(
          .usage, "\(option) and --source-set \(setting) are the same; give one of them")
      }
    }
    if hasTimes(kind, kinds) {
      try add(from?.settingText, "from", "--from")
    } else if from != nil, !fit.hasTimes {
      throw RunError(
        .usage, "--from is for a recording: give it with --source file:PATH or replay:PATH")
    }
    if kind == "camera" {
      if values["replug"] == nil { values["replug"] = onUnplug?.settingText }
      try add(controls.map { filled($0, label) }, "controls", "--controls")
    } else if !fit.hasCamera {
      if onUnplug != nil {
        throw RunError(.usage, "--on-unplug is for a camera, and \(kind) is none; leave it out")
      }
      if controls != nil {
        throw RunError(.usage, "--controls is for a camera, and \(kind) is none; leave it out")
      }
    }
  }
}

/// Returns the name of a file that is read, with the source's label instead of `{source}`.
func filled(_ text: String, _ label: String) -> String {
  text.replacing("{source}", with: label)
}
