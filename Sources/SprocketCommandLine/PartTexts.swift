internal import Sprocket
internal import SprocketPipelines

// Parts of a pipeline as options spell them.
extension Kinds {
  /// `NAME[:KEY=VALUE,...]`, of a stage.
  func stage(_ text: String) throws(RunError) -> Part {
    let (name, values) = try nameAndValues(text, option: "--stage")
    let kind = try kind(name, .stage)
    return Part(name, try kind.settings(values))
  }

  /// `NAME[:KEY=VALUE,...]`, of an audio stage.
  func audioStage(_ text: String) throws(RunError) -> Part {
    let (name, values) = try nameAndValues(text, option: "--audio-stage")
    if let known = audioStages.first(where: { name.hasPrefix("\($0.name)=") }) {
      throw RunError(
        .usage,
        "--audio-stage \(text): settings follow a colon, such as "
          + "\(known.name):\(known.settings.first?.name ?? "key")=VALUE")
    }
    let kind = try kind(name, .audioStage)
    return Part(name, try kind.settings(values))
  }

  /// `NAME[:ARGUMENT][,KEY=VALUE...]`, of a sink; without an argument `NAME:KEY=VALUE,...`.
  func sink(_ text: String) throws(RunError) -> Part {
    let (kind, texts) = try sinkTexts(text)
    return Part(kind.name, try kind.settings(texts))
  }

  /// The kind and the settings of a sink.
  func sinkTexts(_ text: String) throws(RunError) -> (SinkKind, [String: String]) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let kind = outputs.first(where: { $0.name == name }) else {
      if let equals = name.firstIndex(of: "="),
        outputs.contains(where: { $0.name == name[..<equals] })
      {
        let rest = text[text.index(after: equals)...]
        throw RunError(.usage, "--sink \(text): write \(name[..<equals]):\(rest)")
      }
      throw RunError(
        .usage,
        "there is no sink `\(name)`; "
          + (nearestName(to: name, among: outputs.map(\.name)).map { "did you mean `\($0)`? " }
            ?? "") + "there are: \(outputs.map(\.usage).joined(separator: ", "))")
    }
    let found = try argumentAndValues(
      of: kind, parts.dropFirst().first ?? "", in: text, option: "--sink")
    return (kind, try kind.texts(argument: found.argument, found.values))
  }

  /// `NAME[:LAYOUT][,KEY=VALUE...]`, of a share; `fd:3` is a name.
  func share(_ text: String) throws(RunError) -> [String: String] {
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
    values.merge(more) { first, _ in first }
    values["name"] = String(text[..<colon])
    return values
  }

  /// `DEVICE[,KEY=VALUE...]`, of a virtual camera.
  func virtual(_ text: String) throws(RunError) -> [String: String] {
    let found = try argumentAndValues(
      of: VirtualSink.kind, text[...], in: text, option: "--virtual")
    return try VirtualSink.kind.texts(argument: found.argument, found.values)
  }

  /// `[ADDRESS][,KEY=VALUE...]`, of a page.
  func page(_ text: String) throws(RunError) -> [String: String] {
    guard !text.isEmpty else { return [:] }
    let found = try argumentAndValues(of: PageSink.kind, text[...], in: text, option: "--page")
    return try PageSink.kind.texts(argument: found.argument, found.values)
  }

  /// The kind of `NAME[:ARGUMENT]`, of a source.
  func source(named text: String) -> SourceKind? {
    sources.first { $0.name == text.prefix { $0 != ":" } }
  }

  /// `NAME[:ARGUMENT]`, of a source, split at the first colon only.
  func source(_ text: String, _ values: [String: String] = [:]) throws(RunError) -> Part {
    guard let kind = source(named: text) else {
      throw RunError(.usage, SourceHints.unknown(text, among: sources))
    }
    if let sentence = SourceHints.otherKind(text) { throw RunError(.usage, sentence) }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    return Part(
      kind.name,
      try kind.settings(argument: parts.count == 2 ? String(parts[1]) : "", values))
  }

  /// `NAME[:ARGUMENT][,KEY=VALUE...]`, of a microphone. A name that is none of the kinds' is a device's.
  func microphone(_ text: String) throws(RunError) -> Part {
    if [SoundParts.automatic, SoundParts.none].contains(text) { return Part(text, NoSettings()) }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let named = microphones.first { $0.name == parts[0] }
    if named == nil { try checkMicrophone(text) }
    guard let kind = named ?? microphones.first(where: { $0.name == MicrophoneSource.kind.name })
    else {
      throw RunError(
        .usage,
        "there is no microphone `\(text)`; " + knownNames(microphones.map(\.name), near: text),
        change: .microphone)
    }
    let (argument, values) = try argumentAndValues(
      of: kind, named == nil ? text[...] : parts.dropFirst().first ?? "", in: text,
      option: "--microphone")
    return Part(kind.name, try kind.settings(argument: argument, values))
  }

  /// Throws for what is no device's name, but nearly that of another source.
  private func checkMicrophone(_ text: String) throws(RunError) {
    let kinds = microphones.map(\.name)
    let parts = text.split(separator: ",", maxSplits: 1)
    let name = String(parts.first ?? "")
    if parts.count == 2, kinds.contains(name) {
      throw RunError(
        .usage, "--microphone \(text): settings follow a colon; write \(name):\(parts[1])",
        change: .microphone)
    }
    if PartialFile.isFile(name) {
      let kind = name.lowercased().hasSuffix(".mcap") ? "replay" : "file"
      throw RunError(
        .usage, "--microphone \(text): to hear a file, write \(kind):\(text)", change: .microphone)
    }
    let word = String(text.prefix { $0 != ":" && $0 != "," })
    // Names of devices have a colon, or are a word of ALSA's.
    let others = [SoundParts.automatic, SoundParts.none]
    if !word.contains(":"), let near = nearestName(to: word, among: kinds + others),
      !MicrophoneInfo.isNamed(word)
    {
      throw RunError(
        .usage, "there is no microphone `\(text)`; did you mean `\(near)`?", change: .microphone)
    }
  }

  /// What follows the name of a kind and a colon: `[ARGUMENT][,KEY=VALUE...]`; without an argument
  /// `KEY=VALUE,...`. `text` is all of it, for errors.
  private func argumentAndValues<Made, Request>(
    of kind: Kind<Made, Request>, _ given: Substring, in text: String, option: String
  ) throws(RunError) -> (argument: String, values: [String: String]) {
    let noun = "the \(Request.noun) \(kind.name)"
    let known = kind.settingNames
    // A file that is read may be called as if settings followed.
    let isRead = kind.settings.contains { $0.name == kind.argument && $0.use == .read }
    if isRead, PartialFile.isFile(String(given)) { return (String(given), [:]) }
    // Settings end the text; what comes before them may hold commas and equal signs itself.
    var rest = given.isEmpty ? [] : given.split(separator: ",", omittingEmptySubsequences: false)
    var pairs: [String] = []
    while let last = rest.last,
      kind.argument == nil
        ? last.contains("=") : known.contains(where: { last.hasPrefix("\($0)=") })
    {
      pairs.insert(String(last), at: 0)
      rest.removeLast()
    }
    if rest.count > 1, let last = rest.last, let equals = last.firstIndex(of: "="),
      let near = nearestName(to: String(last[..<equals]), among: known)
    {
      throw RunError(
        .usage,
        "\(option) \(text): \(noun) has no setting `\(last[..<equals])`; did you mean `\(near)`?")
    }
    if let last = rest.last,
      rest.dropFirst().contains(where: { part in known.contains { part.hasPrefix("\($0)=") } })
    {
      let name = String(last.prefix { $0 != "=" })
      throw RunError(
        .usage,
        "\(option) \(text): \(noun) has no setting `\(name)`; "
          + knownNames(known, near: name, "it has"))
    }
    return (rest.joined(separator: ","), try keyValues(pairs, option: "\(option) \(kind.name)"))
  }
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
