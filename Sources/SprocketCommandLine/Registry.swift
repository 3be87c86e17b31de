internal import Sprocket

/// What can be named on the command line.
struct Registry: Sendable {
  let stages: [Plugin]
  let sources: [SourceKind]
  let sinks: [SinkKind]
  let audioStages: [AudioPlugin]
  let audioSources: [AudioSourceKind]

  init(
    stages: [Plugin], sources: [SourceKind], sinks: [SinkKind], audioStages: [AudioPlugin],
    audioSources: [AudioSourceKind]
  ) throws(RunError) {
    self.audioStages = audioStages.sorted { $0.name < $1.name }
    self.audioSources = audioSources.sorted { $0.name < $1.name }
    self.stages = stages.sorted { $0.name < $1.name }
    self.sources = sources.sorted { $0.name < $1.name }
    self.sinks = sinks.sorted { $0.name < $1.name }
    try Self.refuseEqual(stages.map(\.name), "stages")
    try Self.refuseEqual(sources.map(\.name), "sources")
    try Self.refuseEqual(sinks.map(\.name), "sinks")
    try Self.refuseEqual(audioStages.map(\.name), "audio stages")
    try Self.refuseEqual(audioSources.map(\.name), "audio sources")
    for plugin in stages {
      guard let name = plugin.ambiguousSetting else { continue }
      throw RunError(
        .usage,
        "the stages of \(plugin.name) differ on the setting `\(name)`: give it the same unit, "
          + "default and allowed values in each, or another name in one")
    }
  }

  private static func refuseEqual(_ names: [String], _ nouns: String) throws(RunError) {
    for (index, name) in names.enumerated() where names[..<index].contains(name) {
      throw RunError(.usage, "two \(nouns) are called \(name); rename one of them")
    }
  }

  func stage(_ name: String) throws(RunError) -> Plugin {
    guard let found = stages.first(where: { $0.name == name }) else {
      throw RunError(
        .usage,
        "there is no stage `\(name)`; " + knownNames(stages.map(\.name), near: name))
    }
    return found
  }

  /// `NAME[:KEY=VALUE,...]`.
  func choice(_ text: String) throws(RunError) -> StageChoice {
    let (name, values) = try nameAndValues(text, option: "--stage")
    return StageChoice(try stage(name), values: values)
  }

  /// `NAME[:KEY=VALUE,...]`, of an audio stage.
  func audioChoice(_ text: String) throws(RunError) -> AudioChoice {
    let (name, values) = try nameAndValues(text, option: "--audio-stage")
    guard let found = audioStages.first(where: { $0.name == name }) else {
      if let known = audioStages.first(where: { name.hasPrefix("\($0.name)=") }) {
        throw RunError(
          .usage,
          "--audio-stage \(text): settings follow a colon, such as "
            + "\(known.name):\(known.settings.first?.name ?? "key")=VALUE")
      }
      throw RunError(
        .usage,
        "there is no audio stage `\(name)`; " + knownNames(audioStages.map(\.name), near: name))
    }
    return AudioChoice(found, values: values)
  }

  /// `NAME[:ARGUMENT][,KEY=VALUE...]`; without an argument `NAME:KEY=VALUE,...`.
  func sink(_ text: String) throws(RunError) -> SinkChoice {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let kind = sinks.first(where: { $0.name == name }) else {
      if let equals = name.firstIndex(of: "="),
        sinks.contains(where: { $0.name == name[..<equals] })
      {
        let rest = text[text.index(after: equals)...]
        throw RunError(.usage, "--sink \(text): write \(name[..<equals]):\(rest)")
      }
      throw RunError(
        .usage,
        "there is no sink `\(name)`; "
          + (nearestName(to: name, among: sinks.map(\.name)).map { "did you mean `\($0)`? " } ?? "")
          + "there are: \(sinks.map(\.usage).joined(separator: ", "))")
    }
    let (argument, values) = try argumentAndValues(
      of: kind, parts.dropFirst().first ?? "", in: text, option: "--sink")
    return SinkChoice(option: "--sink \(name)", kind: kind, argument: argument, values: values)
  }

  /// What follows the name of a kind and a colon: `[ARGUMENT][,KEY=VALUE...]`; without an argument
  /// `KEY=VALUE,...`. `text` is all of it, for errors.
  func argumentAndValues<Made, Request>(
    of kind: Kind<Made, Request>, _ given: Substring, in text: String, option: String
  ) throws(RunError) -> (argument: String, values: [String: String]) {
    let noun = "the \(Request.noun) \(kind.name)"
    // Settings end the text; what comes before them may hold commas and equal signs itself.
    var rest = given.isEmpty ? [] : given.split(separator: ",", omittingEmptySubsequences: false)
    var pairs: [String] = []
    while let last = rest.last,
      kind.argument == nil
        ? last.contains("=") : kind.settings.contains(where: { last.hasPrefix("\($0.name)=") })
    {
      pairs.insert(String(last), at: 0)
      rest.removeLast()
    }
    if rest.count > 1, let last = rest.last, let equals = last.firstIndex(of: "="),
      let near = nearestName(to: String(last[..<equals]), among: kind.settings.map(\.name))
    {
      throw RunError(
        .usage,
        "\(option) \(text): \(noun) has no setting `\(last[..<equals])`; did you mean `\(near)`?")
    }
    let isSetting = { (part: Substring) in kind.settings.contains { part.hasPrefix("\($0.name)=") }
    }
    if let last = rest.last, rest.dropFirst().contains(where: isSetting) {
      throw RunError(
        .usage,
        "\(option) \(text): \(noun) has no setting `\(last.prefix { $0 != "=" })`; "
          + knownNames(kind.settings.map(\.name), near: String(last.prefix { $0 != "=" }), "it has")
      )
    }
    return (
      rest.joined(separator: ","), try keyValues(pairs, option: "\(option) \(kind.name)")
    )
  }

  /// A sink that has an option of its own.
  func sink(
    option: String, _ name: String, _ argument: String? = nil, _ values: [String: String?] = [:]
  ) throws(RunError) -> SinkChoice {
    guard let kind = sinks.first(where: { $0.name == name }) else {
      throw RunError(.usage, "\(option): \(programName) has no sink `\(name)`")
    }
    guard argument != "" else {
      throw RunError(.usage, "\(option) is given an empty name; give the name of a file or folder")
    }
    return SinkChoice(
      option: option, kind: kind, argument: argument ?? "",
      values: values.compactMapValues(\.self))
  }

  /// `LAYOUT[:KEY=VALUE,...]`, of a pipe.
  func sink(option: String, _ name: String, layout text: String, header: Bool) throws(RunError)
    -> SinkChoice
  {
    var (path, values) = try nameAndValues(text, option: option)
    if header { values["header"] = "true" }
    return try sink(option: option, name, path, values)
  }

  /// `NAME[:LAYOUT][,KEY=VALUE...]`, of a share; `fd:3` is a name.
  func share(_ text: String) throws(RunError) -> SinkChoice {
    let start = text.hasPrefix("fd:") ? text.index(text.startIndex, offsetBy: 3) : text.startIndex
    let colon = text[start...].firstIndex(where: { $0 == ":" || $0 == "," }) ?? text.endIndex
    var pairs = text[colon...].dropFirst().split(separator: ",").map(String.init)
    var values: [String: String] = [:]
    if colon < text.endIndex, text[colon] == ":", let layout = pairs.first, !layout.contains("=") {
      values["layout"] = layout
      pairs.removeFirst()
    }
    let more = try keyValues(pairs, option: "--share")
    if values["layout"] != nil, more["layout"] != nil {
      throw RunError(.usage, "--share \(text): the layout is given twice; give it once")
    }
    return try sink(
      option: "--share", ShareSink.kind.name, String(text[..<colon]),
      values.merging(more) { first, _ in first })
  }

  /// `DEVICE[,KEY=VALUE...]`, of a virtual camera.
  func virtual(_ text: String) throws(RunError) -> SinkChoice {
    let found = try argumentAndValues(
      of: VirtualSink.kind, text[...], in: text, option: "--virtual")
    return try sink(option: "--virtual", VirtualSink.kind.name, found.argument, found.values)
  }

  /// The kind of `NAME[:ARGUMENT]`.
  func source(named text: String) -> SourceKind? {
    sources.first { $0.name == text.prefix { $0 != ":" } }
  }

  /// `NAME[:ARGUMENT]`, split at the first colon only.
  func source(_ text: String, values: [String: String], request: FormatRequest) throws(RunError)
    -> any Source
  {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = source(named: text) else {
      throw RunError(.usage, SourceHints.unknown(text, among: sources))
    }
    if let sentence = SourceHints.otherKind(text) { throw RunError(.usage, sentence) }
    return try kind.make(
      argument: parts.count == 2 ? String(parts[1]) : "", values: values, request: request)
  }
}

/// What sinks of a run are made with: the movie may wait for requests while other sinks do not.
struct OutputRequests: Sendable {
  let movie: OutputRequest
  let other: OutputRequest
}

/// A source that is asked for.
struct SourceText: Sendable {
  /// `NAME[:ARGUMENT]`.
  var name: String
  var values: [String: String]
  var request: FormatRequest

  func make(_ registry: Registry) throws(RunError) -> any Source {
    try registry.source(name, values: values, request: request)
  }
}

/// A sink that is asked for, and by which option.
struct SinkChoice: Sendable {
  let option: String
  let kind: SinkKind
  let argument: String
  let values: [String: String]

  func make(_ requests: OutputRequests) throws(RunError) -> any Sink {
    do throws(RunError) {
      return try kind.make(
        argument: argument, values: values,
        request: kind.name == MovieSink.kind.name ? requests.movie : requests.other)
    } catch {
      // The error names the option that was given: --sink, or --checksums for the kind `checksum`.
      let word = option.dropFirst(2).prefix { $0 != " " }
      let given = word == "sink" ? SettingPath.sink : SettingPath("outputs", String(word))
      throw RunError(
        error.code, error.description,
        error.settings.map { path in
          let isOwn = path.steps.starts(with: ["outputs", kind.name]) || path == .sink
          return isOwn && (word != kind.name || path == .sink) ? given : path
        })
    }
  }

  /// The file that it writes, if any.
  var path: String? { kind.argument == "PATH" && !argument.isEmpty ? argument : nil }
}

/// `NAME[:KEY=VALUE,KEY=VALUE...]`, split at the first colon.
func nameAndValues(
  _ text: String, option: String
) throws(RunError) -> (name: String, values: [String: String]) {
  let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
  let name = String(parts[0])
  guard parts.count == 2 else { return (name, [:]) }
  let pairs = parts[1].split(separator: ",", omittingEmptySubsequences: true).map(String.init)
  guard !pairs.isEmpty else {
    throw RunError(
      .usage, "\(option) \(text): write KEY=VALUE behind the colon, or leave the colon out")
  }
  return (name, try keyValues(pairs, option: "\(option) \(name)"))
}

/// `KEY=VALUE` each; a key given twice is an error.
func keyValues(_ pairs: [String], option: String) throws(RunError) -> [String: String] {
  var values: [String: String] = [:]
  for pair in pairs {
    guard let equals = pair.firstIndex(of: "="), equals != pair.startIndex else {
      throw RunError(.usage, "\(option): write \(pair) as KEY=VALUE")
    }
    let key = String(pair[..<equals])
    if let next = pair[equals...].firstMatch(of: /,[a-z]+=/) {
      throw RunError(
        .usage,
        "\(option) takes one KEY=VALUE: give \(pair[next.range].dropFirst())... as another \(option)"
      )
    }
    guard values.updateValue(String(pair[pair.index(after: equals)...]), forKey: key) == nil else {
      throw RunError(.usage, "\(option): \(key) is given twice; give it once")
    }
  }
  return values
}
