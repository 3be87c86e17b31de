internal import Sprocket

/// What can be named on the command line.
struct Registry {
  let stages: [Plugin]
  let sources: [SourceKind]

  init(stages: [Plugin]) throws(RunError) {
    self.stages = stages.sorted { $0.name < $1.name }
    sources = builtinSources
    for (one, next) in zip(self.stages, self.stages.dropFirst()) where one.name == next.name {
      throw RunError(.usage, "two stages are called \(one.name); rename one of them")
    }
    for plugin in stages {
      guard let name = plugin.ambiguousSetting else { continue }
      throw RunError(
        .usage,
        "the stages of \(plugin.name) differ on the setting `\(name)`: give it the same unit, "
          + "default and allowed values in each, or another name in one")
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
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let plugin = try stage(String(parts[0]))
    guard parts.count == 2 else { return StageChoice(plugin) }
    let pairs = parts[1].split(separator: ",", omittingEmptySubsequences: true).map(String.init)
    guard !pairs.isEmpty else {
      throw RunError(
        .usage, "--stage \(text): write KEY=VALUE behind the colon, or leave the colon out")
    }
    return StageChoice(plugin, values: try keyValues(pairs, option: "--stage \(plugin.name)"))
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
      let near = nearestName(to: String(parts[0]), among: sources.map(\.name))
      let looksLikeFile = parts.count == 1 && text.contains(".") && !text.hasPrefix("/dev/")
      throw RunError(
        .usage,
        "there is no source `\(parts[0])`; "
          + (looksLikeFile ? "for a file write file:\(text), or replay:\(text) for a dump; " : "")
          + (near.map { "did you mean `\($0)`? " } ?? "")
          + "there are: \(sources.map(\.usage).joined(separator: ", "))")
    }
    return try kind.make(
      argument: parts.count == 2 ? String(parts[1]) : "", values: values, request: request)
  }
}

/// `KEY=VALUE` each; a key given twice is an error.
func keyValues(_ pairs: [String], option: String) throws(RunError) -> [String: String] {
  var values: [String: String] = [:]
  for pair in pairs {
    guard let equals = pair.firstIndex(of: "="), equals != pair.startIndex else {
      throw RunError(.usage, "\(option): write \(pair) as KEY=VALUE")
    }
    let key = String(pair[..<equals])
    guard values.updateValue(String(pair[pair.index(after: equals)...]), forKey: key) == nil else {
      throw RunError(.usage, "\(option): \(key) is given twice; give it once")
    }
  }
  return values
}
