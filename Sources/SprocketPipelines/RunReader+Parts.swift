internal import Sprocket

// The parts of a pipeline, and their settings.
extension RunReader {
  mutating func part(
    _ tree: Tree, id: String?, _ role: Kinds.Role, _ mark: Mark?
  ) -> Part? {
    if tree.isNull, !kinds[role].contains(where: { $0.name == id }) {
      noteUnnamed(id, near: id, role, mark)
      return nil
    }
    switch tree.content {
    case .map(var rest):
      guard let kind = kind(&rest, id: id, role, mark) else { return nil }
      return part(kind, id: id, rest, role, beside: ["kind"])
    case .list:
      note(mark, "\(role.noun)s of a list have no list of their own", role.path(id ?? "", nil))
      return nil
    case .scalar(let scalar):
      if let id, let kind = kinds[role].first(where: { $0.name == id }) {
        return part(kind, id: id, argument(tree, of: kind), role)
      }
      if let id, nearestName(to: scalar.text, among: kinds[role].map(\.name)) == nil,
        !kinds[role].contains(where: { $0.name == scalar.text })
      {
        noteUnnamed(id, near: id, role, mark)
        return nil
      }
      guard let kind = find(scalar.text, role, mark) else { return nil }
      return part(kind, id: id, [], role)
    }
  }

  /// Tells that no kind is named, with the one that `name` may stand for.
  private mutating func noteUnnamed(
    _ id: String?, near name: String?, _ role: Kinds.Role, _ mark: Mark?
  ) {
    let names = kinds[role].map(\.name)
    let path = id.map { role.path($0, nil) } ?? role.path
    guard let name, let near = nearestName(to: name, among: names) else {
      let example = names.first.map { ", such as kind: \($0)" } ?? ""
      return note(mark, "name what kind of \(role.noun) it is\(example)", path)
    }
    note(mark, "there is no \(role.noun) `\(name)`; did you mean `\(near)`?", path)
  }

  /// Takes the kind of a part out of its entries: `kind: NAME`, a key that is its name, or the part's id.
  mutating func kind(
    _ rest: inout [Tree.Entry], id: String?, _ role: Kinds.Role, _ mark: Mark?,
    beside others: [String] = []
  ) -> (any NamedKind)? {
    if let tree = rest.take("kind") {
      guard case .scalar(let scalar) = tree.content else {
        note(tree.mark, "`kind` is a name", id.map { role.path($0, nil) } ?? role.path)
        return nil
      }
      return find(scalar.text, role, tree.mark)
    }
    if let kind = kinds[role].first(where: { $0.name == id }) { return kind }
    let found = rest.filter { entry in kinds[role].contains { $0.name == entry.key } }
    guard found.count <= 1 else {
      note(
        mark,
        "\(found.map(\.key).joined(separator: " and ")) are both kinds; name one: kind: \(found[0].key)",
        id.map { role.path($0, nil) } ?? role.path)
      return nil
    }
    guard found.count == 1, let kind = find(found[0].key, role, found[0].mark) else {
      let names = kinds[role].map(\.name)
      let wrong = rest.first { nearestName(to: $0.key, among: names) != nil }
      noteUnnamed(id, near: wrong?.key ?? id, role, wrong?.mark ?? mark)
      return nil
    }
    rest.removeAll { $0.key == kind.name }
    if let settings = found[0].value.entries {
      if let apart = rest.first(where: { !others.contains($0.key) }) {
        note(
          apart.mark,
          "`\(apart.key)` stands beside \(kind.name), whose settings are below it; write it there",
          role.path(id ?? kind.name, apart.key))
      }
      for entry in settings where others.contains(entry.key) {
        if kind.settingNames.contains(entry.key) { continue }
        note(
          entry.mark, "`\(entry.key)` stands beside \(kind.name), not below it; write it there",
          role.path(id ?? kind.name, entry.key))
      }
      rest += settings.filter { entry in
        !others.contains(entry.key) || kind.settingNames.contains(entry.key)
      }
    } else {
      if let twice = rest.first(where: { $0.key == kind.argument }) {
        note(
          twice.mark, "`\(twice.key)` is what stands behind \(kind.name); give it once",
          role.path(id ?? kind.name, twice.key))
      }
      rest += argument(found[0].value, of: kind)
    }
    return kind
  }

  private mutating func find(_ name: String, _ role: Kinds.Role, _ mark: Mark?) -> (any NamedKind)?
  {
    if role == .microphone, [SoundParts.automatic, SoundParts.none].contains(name) {
      return PseudoKind(name: name)
    }
    do throws(RunError) {
      return try kinds.kind(name, role)
    } catch {
      guard let sentence = optionSpelling(name, role) else {
        errors.append(DescriptionError(mark: mark, error: error))
        return nil
      }
      note(mark, sentence, role.path)
      return nil
    }
  }

  /// What to write in place of a text that is spelled as in an option: `camera:/dev/video0`, `hw:1`.
  private func optionSpelling(_ text: String, _ role: Kinds.Role) -> String? {
    let name = text.prefix { $0 != ":" }
    guard name.count < text.count else { return nil }
    let kind = kinds[role].first { $0.name == name }
    let rest = kind == nil ? text[...] : text.dropFirst(name.count + 1)
    guard let kind = kind ?? (role == .microphone ? MicrophoneSource.kind : nil) else { return nil }
    let argument = rest.contains("=") || kind.argument == nil ? "{SETTING: VALUE}" : "\"\(rest)\""
    return "`\(text)` is as options spell it; here write {\(kind.name): \(argument)}"
  }

  /// What stands behind a kind's name, as the setting that it is.
  private mutating func argument(_ tree: Tree, of kind: any NamedKind) -> [Tree.Entry] {
    if tree.isNull { return [] }
    guard let name = kind.argument else {
      note(tree.mark, "\(kind.name) takes settings by their names; write them below it")
      return []
    }
    return [Tree.Entry(name, tree, mark: tree.mark)]
  }

  mutating func part(
    _ kind: any NamedKind, id: String?, _ entries: [Tree.Entry], _ role: Kinds.Role,
    beside others: [String] = []
  ) -> Part {
    var part = Part(kind.name, id: id, kind.settingsType.init())
    set(
      &part.settings, entries, beside: others, naming: kind.argument,
      of: "the \(role.noun) \(kind.name)"
    ) {
      role.path(part.id, $0)
    }
    return part
  }

  // MARK: Settings

  /// Sets what the entries say. `others` are names that are allowed beside, for the sentence about a wrong
  /// one; `argument` is the setting that names what the part is about.
  mutating func set<Settings: KindSettings>(
    _ settings: inout Settings, _ entries: [Tree.Entry], beside others: [String] = [],
    naming argument: String? = nil, of owner: String, at path: (String) -> SettingPath
  ) {
    guard !entries.isEmpty else { return }
    let known = Settings.descriptions
    for (index, entry) in entries.enumerated() {
      if entries[..<index].contains(where: { $0.key == entry.key }) {
        note(entry.mark, "`\(entry.key)` is given twice; give it once", path(entry.key))
      }
      guard let setting = known.first(where: { $0.name == entry.key }) else {
        let names = known.map(\.name) + others
        note(
          entry.mark,
          "\(owner) has no `\(entry.key)`; " + knownNames(names, near: entry.key, "it has"),
          path(entry.key))
        continue
      }
      if entry.value.isNull { continue }
      guard case .scalar(let scalar) = entry.value.content else {
        note(entry.mark, "`\(entry.key)` has one value: give \(setting.allowed)", path(entry.key))
        continue
      }
      if let sentence = setting.refusal(of: scalar, isName: setting.name == argument) {
        note(entry.value.mark, sentence, path(entry.key))
        continue
      }
      do throws(SettingError) {
        try settings.set(entry.key, to: scalar.text)
      } catch {
        errors.append(
          DescriptionError(
            mark: entry.value.mark, error: RunError(refused: error, at: path(entry.key), of: owner))
        )
      }
    }
  }
}

extension SettingDescription {
  /// Why the way in which a value is written does not fit, or may be wrong; `nil` if it is well.
  fileprivate func refusal(of scalar: Tree.Scalar, isName: Bool) -> String? {
    let isText = forms.contains { form in
      switch form {
      case .text: true
      case .words(let words): words.contains(scalar.text)
      case .number, .flag: false
      }
    }
    if scalar.isQuoted, !isText, forms.contains(where: \.isPlainForm) {
      return "`\(name)` is \(forms == [.flag] ? "true or false" : "a number"); leave out the quotes"
    }
    if forms == [.flag], !["true", "false", "on", "off", "yes", "no"].contains(scalar.text) {
      return "`\(name)` is true or false"
    }
    if scalar.isCut, use != nil || isName {
      return
        "a comment begins behind `\(scalar.text)`; put a name that has # into quotes, or the comment "
        + "into a line of its own"
    }
    return nil
  }
}
