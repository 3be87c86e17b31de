internal import Sprocket

/// Reads a tree, and notes all that is wrong.
struct RunReader {
  let kinds: Kinds
  var errors: [DescriptionError] = []

  init(_ kinds: Kinds) { self.kinds = kinds }

  /// Keys of a pipeline that are no settings of its source.
  static let sections = ["stages", "sound", "outputs"]

  mutating func note(_ mark: Mark?, _ sentence: String, _ path: SettingPath...) {
    errors.append(
      DescriptionError(mark: mark, error: RunError(.usage, sentence, path)))
  }

  /// The entries of a map; `nil`, and an error, where it is none.
  mutating func entries(_ tree: Tree, _ what: String) -> [Tree.Entry]? {
    if tree.isNull { return [] }
    if let entries = tree.entries { return entries }
    note(tree.mark, "\(what) is a map of names and values")
    return nil
  }

  mutating func run(_ tree: Tree) -> Run {
    var run = Run()
    guard var rest = tree.entries else {
      note(tree.mark ?? Mark(line: 1, column: 1), "a run is a map of names and values")
      return run
    }
    if let version = rest.take("version") { check(version) }
    var shared = Pipeline()
    readSections(&shared, &rest)
    let (one, several) = (rest.take("source"), rest.take("sources"))
    if let one, several != nil {
      note(one.mark, "source and sources are both there; put it into sources", .source)
    }
    if let several {
      let sources = labelled(several)
      run.sources = sources.map { entry in
        if !Run.Source.isLabel(entry.key) {
          note(
            entry.mark, "`\(entry.key)` is no label; it has letters, digits, - and _", .source)
        }
        return Run.Source(entry.key, pipeline(entry.value, label: entry.key, shared))
      }
      if sources.isEmpty {
        note(several.mark, "sources has none; name one, or leave it out", .source)
      }
    } else {
      run = Run(one.map { pipeline($0, label: nil, shared) } ?? shared)
    }
    rest.removeAll { noteMisplaced($0) }
    set(
      &run.settings, rest,
      beside: ["version", "source", "sources"] + Self.sections
        + AskingSettings.settings.map(\.name), of: "a run"
    ) { SettingPath($0) }
    return run
  }

  /// The sources of a run: a map by labels, or a list of such maps, which also programs that sort keys write
  /// in order.
  private mutating func labelled(_ sources: Tree) -> [Tree.Entry] {
    guard case .list(let list) = sources.content else { return entries(sources, "sources") ?? [] }
    return list.flatMap { item in
      let found = entries(item, "a source of the list")
      if list.count > 1, found?.isEmpty == true {
        note(item.mark, "a source of the list is empty; name it, or leave it out", .source)
      }
      return found ?? []
    }
  }

  /// Tells of a key that belongs into a section of the run.
  private mutating func noteMisplaced(_ entry: Tree.Entry) -> Bool {
    if RunSettings.settings.contains(where: { $0.name == entry.key }) { return false }
    let format = SourceFormat.settings.map(\.name) + ["control"]
    let places = [
      ("source", format.contains(entry.key)),
      ("outputs", kinds.outputs.contains { $0.name == entry.key }),
      ("outputs.movie", MovieSettings.settings.contains { $0.name == entry.key }),
      (
        "sound", SoundFiles.settings.contains { $0.name == entry.key } || entry.key == "microphones"
      ),
    ]
    guard let place = places.first(where: \.1) else { return false }
    note(
      entry.mark, "a run has no `\(entry.key)`; write it below \(place.0)", SettingPath(entry.key))
    return true
  }

  private mutating func check(_ version: Tree) {
    guard case .scalar(let scalar) = version.content, Int(scalar.text) == Run.version else {
      return note(
        version.mark, "this program reads version \(Run.version); take a program that is as new",
        SettingPath("version"))
    }
  }

  /// Reads what holds for a pipeline, or for all.
  private mutating func readSections(_ pipeline: inout Pipeline, _ rest: inout [Tree.Entry]) {
    if let stages = rest.take("stages") { pipeline.stages = list(stages, .stage) }
    if let sound = rest.take("sound") { pipeline.sound = self.sound(sound) }
    if let outputs = rest.take("outputs") {
      pipeline.outputs = (entries(outputs, "outputs") ?? []).compactMap { entry in
        if entry.key.isEmpty { note(entry.mark, "an output has an empty name; name it", .sink) }
        return part(entry.value, id: entry.key, .output, entry.mark)
      }
    }
    let names = AskingSettings.settings.map(\.name)
    let asking = rest.filter { names.contains($0.key) }
    rest.removeAll { names.contains($0.key) }
    set(&pipeline.asking, asking, of: "a run") { SettingPath($0) }
  }

  private mutating func pipeline(_ tree: Tree, label: String?, _ shared: Pipeline) -> Pipeline {
    var pipeline = shared
    if tree.isNull, !kinds.sources.contains(where: { $0.name == label }) { return pipeline }
    guard var rest = tree.entries else {
      pipeline.source = part(tree, id: label, .source, tree.mark)
      return pipeline
    }
    readSections(&pipeline, &rest)
    if let controls = rest.take("control") { pipeline.controls = self.controls(controls) }
    var own = rest
    let format = SourceFormat.settings.map(\.name)
    let isUsual =
      own.allSatisfy { format.contains($0.key) }
      && !kinds.sources.contains { $0.name == label }
    let beside = format + ["kind", "control"] + Self.sections
    let kind = isUsual ? nil : kind(&own, id: label, .source, tree.mark, beside: beside)
    set(&pipeline.format, own.filter { format.contains($0.key) }, of: "the source") {
      SettingPath("source", $0)
    }
    guard let kind else { return pipeline }
    own.removeAll { format.contains($0.key) }
    pipeline.source = part(
      kind, id: nil, own, .source, beside: beside)
    return pipeline
  }

  private mutating func controls(_ tree: Tree) -> [ControlWish] {
    let maps: [Tree]
    if case .list(let list) = tree.content { maps = list } else { maps = [tree] }
    return maps.flatMap { map in
      (entries(map, "a control") ?? []).compactMap { entry in
        guard case .scalar(let scalar) = entry.value.content else {
          note(
            entry.mark, "the control \(entry.key) has one value", SettingPath("source", "control"))
          return nil
        }
        return ControlWish(entry.key, scalar.text)
      }
    }
  }

  private mutating func sound(_ tree: Tree) -> SoundParts {
    var sound = SoundParts()
    guard var rest = entries(tree, "sound") else { return sound }
    if let microphones = rest.take("microphones") {
      sound.microphones = list(microphones, .microphone)
    }
    if let stages = rest.take("stages") { sound.stages = list(stages, .audioStage) }
    set(&sound.files, rest, beside: ["microphones", "stages"], of: "sound") {
      SettingPath("sound", $0)
    }
    return sound
  }

  /// The parts of a list; one part may stand without its list.
  private mutating func list(_ tree: Tree, _ role: Kinds.Role) -> [Part] {
    if tree.isNull { return [] }
    guard case .list(let list) = tree.content else {
      let named = (tree.entries ?? []).filter { entry in
        kinds[role].contains { $0.name == entry.key }
      }
      if named.count > 1 {
        note(tree.mark, "\(role.noun)s are a list, in their order; begin each with `- `", role.path)
        return []
      }
      return part(tree, id: nil, role, tree.mark).map { [$0] } ?? []
    }
    return list.compactMap { part($0, id: nil, role, $0.mark) }
  }
}

extension [Tree.Entry] {
  /// Takes the value of a key out.
  mutating func take(_ key: String) -> Tree? {
    firstIndex { $0.key == key }.map { remove(at: $0).value }
  }
}

/// `auto` and `none` among microphones.
struct PseudoKind: NamedKind {
  static var noun: String { AudioSourceKind.noun }
  static func path(_ kind: String, _ setting: String?) -> SettingPath { .microphone }

  let name: String
  var text: String { "" }
  var argument: String? { nil }
  var settingsType: any KindSettings.Type { NoSettings.self }
}

extension Run.Source {
  /// Whether a text can name a source.
  public static func isLabel(_ text: some StringProtocol) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      }
  }
}
