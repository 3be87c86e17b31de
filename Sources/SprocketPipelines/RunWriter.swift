internal import Sprocket

extension Tree {
  /// The description of a run: what differs from the defaults. `overwrite` is left out: each run is asked
  /// anew whether files may be replaced.
  public init(_ run: Run) {
    var entries = [Entry("version", Tree("\(Run.version)", isQuoted: false))]
    let pipelines = run.sources.map(\.pipeline)
    // What all sources have alike stands once.
    let shared = pipelines.dropFirst().allSatisfy { $0.sections == pipelines[0].sections }
    // The label of one source stands where it is not the source's own.
    if run.sources.count == 1, run.sources[0].hasUsualLabel {
      let source = Self.source(pipelines[0])
      if !source.isEmpty { entries.append(Entry("source", Tree(.map(source)))) }
    } else {
      let sources = run.sources.map { source in
        let own = shared ? [] : Self.sections(source.pipeline)
        return Entry(source.label, Tree(.map(Self.source(source.pipeline) + own)))
      }
      entries.append(Entry("sources", Tree(.map(sources))))
    }
    if shared, let first = pipelines.first { entries += Self.sections(first) }
    self.init(.map(entries + Self.settings(run.settings)))
  }

  private static func source(_ pipeline: Pipeline) -> [Entry] {
    var entries =
      pipeline.source.map { part in
        [Entry("kind", Tree(part.kind, isQuoted: true))] + settings(part.settings)
      } ?? []
    entries += settings(pipeline.format)
    if !pipeline.controls.isEmpty {
      let wishes = pipeline.controls.map { wish in
        Tree(
          .map([
            Entry(
              wish.name,
              Tree(wish.value, isQuoted: !SettingForm.number(isWhole: false).isPlain(wish.value)))
          ]))
      }
      entries.append(Entry("control", Tree(.list(wishes))))
    }
    return entries
  }

  private static func sections(_ pipeline: Pipeline) -> [Entry] {
    var entries: [Entry] = []
    if !pipeline.stages.isEmpty { entries.append(Entry("stages", list(pipeline.stages))) }
    var sound: [Entry] = []
    if !pipeline.sound.microphones.isEmpty {
      sound.append(Entry("microphones", list(pipeline.sound.microphones)))
    }
    if !pipeline.sound.stages.isEmpty { sound.append(Entry("stages", list(pipeline.sound.stages))) }
    sound += settings(pipeline.sound.files)
    if !sound.isEmpty { entries.append(Entry("sound", Tree(.map(sound)))) }
    if !pipeline.outputs.isEmpty {
      let outputs = pipeline.outputs.map { part in
        let kind = part.id == part.kind ? [] : [Entry("kind", Tree(part.kind, isQuoted: true))]
        return Entry(part.id, Tree(.map(kind + settings(part.settings))))
      }
      entries.append(Entry("outputs", Tree(.map(outputs))))
    }
    return entries + settings(pipeline.asking)
  }

  private static func list(_ parts: [Part]) -> Tree {
    Tree(
      .list(
        parts.map { part in
          let settings = settings(part.settings)
          let kind = Tree(part.kind, isQuoted: true)
          return settings.isEmpty ? kind : Tree(.map([Entry("kind", kind)] + settings))
        }))
  }

  private static func settings<Settings: KindSettings>(_ settings: Settings) -> [Entry] {
    let known = Settings.descriptions
    return settings.chosen.map { name, text in
      let forms = known.first { $0.name == name }?.forms ?? []
      return Entry(name, Tree(text, isQuoted: !forms.contains { $0.isPlain(text) }))
    }
  }
}

extension SettingForm {
  /// Whether it is a number or a flag.
  var isPlainForm: Bool {
    switch self {
    case .number, .flag: true
    case .words, .text: false
    }
  }

  /// Whether a text is a number (RFC 8259, section 6) or a flag of this form, which stands without quotes.
  func isPlain(_ text: String) -> Bool {
    switch self {
    case .number: text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/) != nil
    case .flag: text == "true" || text == "false"
    case .words, .text: false
    }
  }
}

extension Run.Source {
  /// Whether the label is that of a source that was given none.
  public var hasUsualLabel: Bool {
    if let source = pipeline.source { return label == source.kind }
    return [Run().sources[0].label, CameraSource.kind.name, SceneSource.kind.name].contains(label)
  }
}

extension Pipeline {
  /// What may hold for all sources of a run.
  fileprivate var sections: Pipeline {
    var pipeline = self
    (pipeline.source, pipeline.format, pipeline.controls) = (nil, SourceFormat(), [])
    return pipeline
  }
}
