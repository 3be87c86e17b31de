internal import Sprocket

extension Kinds {
  /// A JSON Schema (draft 2020-12) of descriptions of runs: it takes the files that a reader with these kinds
  /// takes, but for what depends on several values. Editors complete from it.
  public var schema: Tree {
    var writer = SchemaWriter(kinds: self)
    return writer.schema()
  }
}

/// Writes the schema, and the definitions that it refers to.
private struct SchemaWriter {
  let kinds: Kinds
  private var definitions: [Tree.Entry] = []

  init(kinds: Kinds) { self.kinds = kinds }

  mutating func schema() -> Tree {
    let sections = sections
    let own = Properties(
      [("version", map([("const", number(Run.version))]))]
        + settings("run", RunSettings.descriptions) + sections
        + [("source", source(sections)), ("sources", sources(sections))])
    return map(
      [
        ("$schema", word("https://json-schema.org/draft/2020-12/schema")),
        ("title", word("A run of Sprocket")),
      ] + own.members + [("$defs", Tree(.map(definitions)))])
  }

  /// The properties of an object that has no others.
  private struct Properties {
    let members: [(String, Tree)]

    init(_ properties: [(String, Tree)], required: [String] = []) {
      let names = required.map { Tree($0, isQuoted: true) }
      members =
        [("type", Tree("object", isQuoted: true)), ("properties", map(properties))]
        + (names.isEmpty ? [] : [("required", Tree(.list(names)))])
        + [("additionalProperties", Tree("false", isQuoted: false))]
    }
  }

  private func object(_ properties: [(String, Tree)], required: [String] = []) -> Tree {
    map(Properties(properties, required: required).members)
  }

  // MARK: Sections

  private var sections: [(String, Tree)] {
    mutating get {
      let microphones = part(
        .microphone, beside: [], words: [SoundParts.automatic, SoundParts.none])
      let sound = object(
        [("microphones", list(microphones)), ("stages", list(part(.audioStage)))]
          + settings("sound", SoundFiles.descriptions))
      return [
        ("stages", define("stages") { $0.list($0.part(.stage)) }),
        ("sound", define("sound") { $0.nullable(sound) }),
        ("outputs", define("outputs") { $0.outputs }),
      ] + settings("run", AskingSettings.descriptions)
    }
  }

  private var outputs: Tree {
    mutating get {
      return nullable(
        map([
          ("type", word("object")), ("properties", map(named(.output))),
          ("additionalProperties", part(.output)),
        ]))
    }
  }

  /// Parts that are called as a kind: of this kind, or of one that they name.
  private mutating func named(
    _ role: Kinds.Role, beside: [(String, Tree)] = []
  ) -> [(String, Tree)] {
    let others = define("\(role).kinds") { writer in
      writer.any(writer.kinds[role].map { writer.kinded($0, role, beside) })
    }
    return kinds[role].map { kind in
      let own = object(settings(kind, role) + beside)
      return (kind.name, any([own] + argument(kind, role) + [others]))
    }
  }

  /// A part that names its kind.
  private mutating func kinded(
    _ kind: any NamedKind, _ role: Kinds.Role, _ beside: [(String, Tree)]
  ) -> Tree {
    let name = ("kind", map([("const", word(kind.name))]))
    return object([name] + settings(kind, role) + beside, required: ["kind"])
  }

  /// The format, controls and sections of a source, beside its settings.
  private mutating func beside(_ sections: [(String, Tree)]) -> [(String, Tree)] {
    let scalar = map([("type", Tree(.list([word("string"), word("number"), word("boolean")])))])
    let controls = map([("type", word("object")), ("additionalProperties", scalar)])
    return settings("source", SourceFormat.descriptions)
      + [("control", define("control") { $0.list(controls) })] + sections
  }

  private mutating func source(_ sections: [(String, Tree)]) -> Tree {
    // Without a kind it is the first camera.
    nullable(any([part(.source, beside: beside(sections)), object(beside(sections))]))
  }

  private mutating func sources(_ sections: [(String, Tree)]) -> Tree {
    let others = source(sections)
    let named = named(.source, beside: beside(sections))
    let labelled = map([
      ("type", word("object")), ("minProperties", number(1)),
      ("propertyNames", map([("pattern", word("^[A-Za-z0-9_-]+$"))])),
      ("properties", map(named)), ("additionalProperties", others),
    ])
    let list = map([
      ("type", word("array")), ("minItems", number(1)), ("items", labelled),
    ])
    return any([labelled, list])
  }

  // MARK: Parts

  /// One part or a list of them.
  private func list(_ part: Tree) -> Tree {
    nullable(any([part, map([("type", word("array")), ("items", part)])]))
  }

  /// A part of a role: its kind's name, `kind: NAME` and settings, or `NAME: ARGUMENT` and settings.
  private mutating func part(
    _ role: Kinds.Role, beside: [(String, Tree)] = [], words: [String] = []
  ) -> Tree {
    define("\(role)") { writer in
      let all = writer.kinds[role].map(\.name)
      var forms = [map([("enum", Tree(.list((all + words).map { word($0) })))])]
      for kind in writer.kinds[role] {
        let settings = writer.settings(kind, role)
        forms.append(writer.kinded(kind, role, beside))
        // If two keys are names of kinds, it is not clear which one is meant.
        let apart = settings.filter { !all.contains($0.0) && $0.0 != kind.argument }
        let argument = writer.any(writer.argument(kind, role))
        forms.append(
          writer.object([(kind.name, argument)] + apart + beside, required: [kind.name]))
        let below = writer.object(settings)
        forms.append(writer.object([(kind.name, below)] + beside, required: [kind.name]))
      }
      return writer.any(forms)
    }
  }

  /// What may stand behind a kind's name.
  private mutating func argument(_ kind: any NamedKind, _ role: Kinds.Role) -> [Tree] {
    let null = map([("type", word("null"))])
    guard let name = kind.argument else { return [null] }
    return [settings(kind, role).first { $0.0 == name }?.1 ?? null]
  }

  private mutating func settings(_ kind: any NamedKind, _ role: Kinds.Role) -> [(String, Tree)] {
    settings("\(role).\(kind.name)", kind.settings)
  }

  // MARK: Settings

  private mutating func settings(
    _ owner: String, _ settings: [SettingDescription]
  ) -> [(String, Tree)] {
    settings.filter { $0.name != "overwrite" }.map { setting in
      (setting.name, define("\(owner).\(setting.name)") { _ in setting.schema })
    }
  }

  /// Refers to a definition, which is made once.
  private mutating func define(_ name: String, _ make: (inout SchemaWriter) -> Tree) -> Tree {
    if !definitions.contains(where: { $0.key == name }) {
      let made = make(&self)
      definitions.append(Tree.Entry(name, made))
    }
    return map([("$ref", word("#/$defs/\(name)"))])
  }

  private func any(_ forms: [Tree]) -> Tree {
    forms.count == 1 ? forms[0] : map([("anyOf", Tree(.list(forms)))])
  }

  private func nullable(_ form: Tree) -> Tree { any([form, map([("type", word("null"))])]) }
}

private func map(_ entries: [(String, Tree)]) -> Tree {
  Tree(.map(entries.map { Tree.Entry($0.0, $0.1) }))
}
private func word(_ text: String) -> Tree { Tree(text, isQuoted: true) }
private func number(_ number: Int) -> Tree { Tree("\(number)", isQuoted: false) }

extension SettingDescription {
  fileprivate var schema: Tree {
    var forms = forms.map { form in map(members(of: form)) }
    forms.append(map([("type", word("null"))]))
    let sentence = self.text + (unit.isEmpty ? "" : " (\(unit))")
    return map([
      ("description", word(sentence)), ("default", word(defaultText)),
      ("anyOf", Tree(.list(forms))),
    ])
  }

  private func members(of form: SettingForm) -> [(String, Tree)] {
    switch form {
    case .flag: return [("type", Tree("boolean", isQuoted: true))]
    case .words(let words):
      // A word such as 90 may be written as the number that it looks like.
      let numbers = words.filter { SettingForm.number(isWhole: false).isPlain($0) }
      return [
        (
          "enum",
          Tree(
            .list(
              words.map { Tree($0, isQuoted: true) } + numbers.map { Tree($0, isQuoted: false) }))
        )
      ]
    case .number(let isWhole):
      let bounds = [("minimum", least), ("maximum", most)].compactMap { name, bound in
        bound.map { (name, Tree($0, isQuoted: false)) }
      }
      return [("type", Tree(isWhole ? "integer" : "number", isQuoted: true))] + bounds
    case .text(let pattern?):
      return [
        ("type", Tree("string", isQuoted: true)),
        ("pattern", Tree("^(\(pattern))$", isQuoted: true)),
      ]
    case .text(nil):
      return [
        (
          "type",
          Tree(.list(["string", "number", "boolean"].map { Tree($0, isQuoted: true) }))
        )
      ]
    }
  }
}
