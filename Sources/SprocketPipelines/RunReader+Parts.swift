internal import Sprocket

// The parts of a pipeline, and their settings.
extension RunReader {
  mutating func part(
    _ tree: Tree, id: String?, _ role: Kinds.Role, _ mark: Mark?
  ) -> Part? {
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
      guard let kind = find(scalar.text, role, mark) else { return nil }
      return part(kind, id: id, [], role)
    }
  }

  /// Takes the kind of a part out of its entries: `kind: NAME`, a key that is its name, or the part's id.
  mutating func kind(
    _ rest: inout [Tree.Entry], id: String?, _ role: Kinds.Role, _ mark: Mark?,
    beside others: [String] = []
  ) -> (any NamedKind)? {
    if let tree = rest.take("kind") {
      guard case .scalar(let scalar) = tree.content else {
        note(tree.mark, "`kind` is a name", role.path(id ?? "", nil))
        return nil
      }
      return find(scalar.text, role, tree.mark)
    }
    if let kind = kinds[role].first(where: { $0.name == id }) { return kind }
    let found = rest.filter { entry in kinds[role].contains { $0.name == entry.key } }
    guard found.count == 1, let kind = find(found[0].key, role, found[0].mark) else {
      let names = kinds[role].map(\.name)
      let near = rest.first.flatMap { nearestName(to: $0.key, among: names) }
      note(
        mark,
        found.count > 1
          ? "\(found.map(\.key).joined(separator: " and ")) are both kinds; name one: kind: \(found[0].key)"
          : "name what kind of \(role.noun) it is, such as kind: \(near ?? names.first ?? "")",
        role.path(id ?? "", nil))
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
      rest += settings
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
      errors.append(DescriptionError(mark: mark, error: error))
      return nil
    }
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
    set(&part.settings, entries, beside: others, of: "the \(role.noun) \(kind.name)") {
      role.path(part.id, $0)
    }
    return part
  }

  // MARK: Settings

  /// Sets what the entries say. `others` are names that are allowed beside, for the sentence about a wrong
  /// one.
  mutating func set<Settings: KindSettings>(
    _ settings: inout Settings, _ entries: [Tree.Entry], beside others: [String] = [],
    of owner: String, at path: (String) -> SettingPath
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
      if let sentence = setting.refusal(of: scalar) {
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
  fileprivate func refusal(of scalar: Tree.Scalar) -> String? {
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
    if scalar.isCut, use != nil {
      return
        "a comment begins behind `\(scalar.text)`; put a name that has # into quotes, or the comment "
        + "into a line of its own"
    }
    return nil
  }
}
