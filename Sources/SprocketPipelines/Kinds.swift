public import Sprocket

/// What a run can be made of: all kinds that a program knows, by their names.
public struct Kinds: Sendable {
  public let sources: [SourceKind]
  public let microphones: [AudioSourceKind]
  public let stages: [Plugin]
  public let audioStages: [AudioPlugin]
  public let outputs: [SinkKind]

  /// Throws where two of a list have one name, where no option can name one, and where the stages of a
  /// plug-in have settings of several types. All other mistakes of those who wrote the kinds are found when a
  /// run has one of them: to look for them in all would take longer than all else at a program's start.
  public init(
    sources: [SourceKind] = builtinSources, microphones: [AudioSourceKind] = builtinAudioSources,
    stages: [Plugin], audioStages: [AudioPlugin], outputs: [SinkKind] = builtinSinks
  ) throws(RunError) {
    self.sources = sources.sorted { $0.name < $1.name }
    self.microphones = microphones.sorted { $0.name < $1.name }
    self.stages = stages.sorted { $0.name < $1.name }
    self.audioStages = audioStages.sorted { $0.name < $1.name }
    self.outputs = outputs.sorted { $0.name < $1.name }
    for role in Role.allCases {
      let kinds = self[role]
      if let mistake = kinds.lazy.compactMap(\.nameMistake).first { throw mistake }
      let names = kinds.map(\.name)
      for (index, name) in names.enumerated() where names[..<index].contains(name) {
        throw RunError(.usage, "two \(role.noun)s are called \(name); rename one of them")
      }
    }
    for plugin in stages {
      guard let name = plugin.unlikeStage else { continue }
      throw RunError(
        .usage,
        "the stages of \(plugin.name) have settings of several types: give \(name) the type of the others"
      )
    }
  }

  /// What a part of a pipeline is for.
  public enum Role: Sendable, CaseIterable {
    case source, microphone, stage, audioStage, output

    /// What it is called in sentences.
    var noun: String {
      switch self {
      case .source: SourceKind.noun
      case .microphone: AudioSourceKind.noun
      case .stage: Plugin.noun
      case .audioStage: AudioPlugin.noun
      case .output: SinkKind.noun
      }
    }

    /// The path of all parts of that role.
    var path: SettingPath {
      switch self {
      case .source: .source
      case .microphone: .microphone
      case .stage: .stage
      case .audioStage: .audioStage
      case .output: .sink
      }
    }

    /// The path of a part of that role, or of a setting of it.
    func path(_ part: String, _ setting: String?) -> SettingPath {
      switch self {
      case .source: SourceKind.path(part, setting)
      case .microphone: AudioSourceKind.path(part, setting)
      case .stage: Plugin.path(part, setting)
      case .audioStage: AudioPlugin.path(part, setting)
      case .output: SinkKind.path(part, setting)
      }
    }
  }

  /// All kinds of a role, by name.
  public subscript(_ role: Role) -> [any NamedKind] {
    switch role {
    case .source: sources
    case .microphone: microphones
    case .stage: stages
    case .audioStage: audioStages
    case .output: outputs
    }
  }

  /// Throws the first mistake in what any kind declares.
  public func requireNoMistakes() throws(RunError) {
    for role in Role.allCases {
      for kind in self[role] {
        if let mistake = kind.mistakes.first { throw mistake }
      }
    }
  }

  /// Throws where there is none of that name.
  public func kind(_ name: String, _ role: Role) throws(RunError) -> any NamedKind {
    if let kind = self[role].first(where: { $0.name == name }) { return kind }
    throw RunError(
      .usage,
      "there is no \(role.noun) `\(name)`; " + knownNames(self[role].map(\.name), near: name),
      change: role.path(name, nil))
  }
}

// What parts stand for.
extension Kinds {
  /// Makes the source of a part, which is not opened.
  public func make(_ part: Part, _ format: SourceFormat) throws(RunError) -> any Source {
    guard let kind = sources.first(where: { $0.name == part.kind }) else {
      throw RunError(.usage, "there is no source `\(part.kind)`", change: .source)
    }
    return try kind.make(part.settings, request: format.request)
  }

  /// The stage of a part.
  public func choice(_ part: Part) throws(RunError) -> StageChoice {
    guard let plugin = stages.first(where: { $0.name == part.kind }) else {
      throw RunError(.usage, "there is no stage `\(part.kind)`", change: .stage)
    }
    return StageChoice(plugin, settings: part.settings)
  }

  /// Mistakes in the kind of a part, or errors for settings of the part with which nothing can be made.
  func errors(of part: Part, _ role: Role) -> [RunError] {
    guard let kind = self[role].first(where: { $0.name == part.kind }) else { return [] }
    let mistakes = kind.mistakes
    guard mistakes.isEmpty else { return mistakes }
    let refused = RunError.thrown { () throws(RunError) in
      try part.settings.check(of: "the \(role.noun) \(part.kind)") { role.path(part.id, $0) }
    }
    return refused + kind.errors(of: part.settings) { role.path(part.id, $0) }
  }

  /// Makes the sink of a part.
  public func make(_ part: Part, _ request: OutputRequest) throws(RunError) -> any Sink {
    guard let kind = outputs.first(where: { $0.name == part.kind }) else {
      throw RunError(.usage, "there is no sink `\(part.kind)`", change: .sink)
    }
    var request = request
    request.name = part.id == part.kind ? nil : part.id
    do throws(RunError) {
      let sink = try kind.make(part.settings, request: request)
      guard let name = request.name, sink.name != name else { return sink }
      throw RunError(
        .usage,
        "the output \(name) would be called \(sink.name) in the summary; call it so, and have one of it",
        change: Role.output.path(part.kind, nil))
    } catch {
      // Kinds do not know what their parts are called.
      let own = Role.output.path(part.id, nil)
      let paths = error.settings.map { path in
        if path == .sink { return own }
        let steps = path.steps
        guard steps.count > 2, steps[0] == "outputs", steps[1] == part.kind else { return path }
        return Role.output.path(part.id, steps[2])
      }
      throw RunError(error.code, error.description, paths)
    }
  }
}

/// A source, a microphone, a stage or an output of a pipeline: its kind, and what was chosen of it.
public struct Part: Sendable, Equatable {
  /// Tells the parts of a pipeline apart; the kind's name where none is given.
  public var id: String
  /// The kind's name.
  public let kind: String
  public var settings: any KindSettings

  public init(_ kind: some NamedKind, id: String? = nil) {
    self.init(kind.name, id: id, kind.settingsType.init())
  }

  public init(_ kind: String, id: String? = nil, _ settings: any KindSettings) {
    (self.id, self.kind, self.settings) = (id ?? kind, kind, settings)
  }

  /// The settings as a value of their type; `nil` if they are of another type. A value of another type cannot
  /// be stored.
  ///
  ///     pipeline.outputs["movie"]?[MovieSettings.self]?.quality = 80
  public subscript<Settings: KindSettings>(_ type: Settings.Type) -> Settings? {
    get { settings as? Settings }
    set { if let newValue, Swift.type(of: settings) == type { settings = newValue } }
  }

  /// Whether it records on request, on a condition or within limits, which one output of a kind does.
  public var isAsked: Bool {
    self[MovieSettings.self].map { $0.isAsked || $0.recordsAtOnce }
      ?? self[StillSettings.self]?.isOnDemand ?? false
  }

  public static func == (one: Part, other: Part) -> Bool {
    one.id == other.id && one.kind == other.kind && one.settings.isEqual(to: other.settings)
  }
}

extension [Part] {
  /// The part of that id.
  public subscript(id: String) -> Part? {
    get { first { $0.id == id } }
    set {
      guard let index = firstIndex(where: { $0.id == id }) else {
        if let newValue { append(newValue) }
        return
      }
      if let newValue { self[index] = newValue } else { remove(at: index) }
    }
  }
}
