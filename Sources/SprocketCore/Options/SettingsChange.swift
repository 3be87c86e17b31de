/// Other values of some settings of a stage in a chain. Settings that it does not name stay as they are.
///
///     let change = SettingsChange("meter", of: ExposureMeter.Settings.self) { $0.mode = .spot }
public struct SettingsChange: Sendable, Equatable {
  /// The name of the stage's plug-in.
  public let stage: String
  /// Has the new values; its other values mean nothing.
  public private(set) var settings: any KindSettings
  /// Names of the settings that change.
  public private(set) var names: [String]

  package init(_ stage: String, settings: any KindSettings, names: [String]) {
    (self.stage, self.settings, self.names) = (stage, settings, names)
  }

  /// Chooses new values by the properties of a stage's settings. Each property that `choose` sets is one
  /// that changes, also if it gets its default.
  public init<Settings: KindSettings>(
    _ stage: String, of type: Settings.Type, _ choose: (inout NewValues<Settings>) -> Void
  ) {
    var values = NewValues<Settings>()
    choose(&values)
    self.init(stage, settings: values.settings, names: values.names)
  }

  /// The new values as texts, by the settings' names.
  package var texts: [String: String] {
    names.reduce(into: [:]) { $0[$1] = settings.text(of: $1) }
  }

  /// Whether a run can take it on without making the stage anew.
  package var isLive: Bool {
    let live = type(of: settings).descriptions.filter(\.isLive).map(\.name)
    return names.allSatisfy(live.contains)
  }

  /// Adds what a later change of the same stage names, which replaces what this one has of it.
  package mutating func add(_ later: SettingsChange) {
    settings.take(later.names, from: later.settings)
    names += later.names.filter { !names.contains($0) }
  }

  public static func == (one: Self, other: Self) -> Bool {
    one.stage == other.stage && one.texts == other.texts
  }
}

/// Settings of which some get new values. A property that was not set has its default.
@dynamicMemberLookup
public struct NewValues<Settings: KindSettings> {
  fileprivate var settings = Settings()
  fileprivate var names: [String] = []

  public subscript<Value>(dynamicMember path: WritableKeyPath<Settings, Value>) -> Value {
    get { settings[keyPath: path] }
    set {
      settings[keyPath: path] = newValue
      // A property that is no setting has no name: the change is refused where it is asked for.
      let name = Settings.settings.first { $0.isAt(path) }?.name ?? "\(path)"
      if !names.contains(name) { names.append(name) }
    }
  }
}

extension KindSettings {
  /// What differs from other settings of the same type.
  package func change(of stage: String, since old: Self) -> SettingsChange {
    let names = Self.settings.filter { $0.read(from: self) != $0.read(from: old) }.map(\.name)
    return SettingsChange(stage, settings: self, names: names)
  }

  package func change(of stage: String, since old: any KindSettings) -> SettingsChange {
    (old as? Self).map { change(of: stage, since: $0) }
      ?? SettingsChange(stage, settings: self, names: Self.settings.map(\.name))
  }

  /// Takes the values of these settings from settings of the same type; those of another type are ignored.
  package mutating func take(_ names: [String], from other: any KindSettings) {
    guard let other = other as? Self else { return }
    for setting in Self.settings where names.contains(setting.name) { setting.copy(other, &self) }
  }
}

extension Choice {
  /// Returns the same with other values of some settings. Throws where there is no setting of that name, and
  /// for a value that is not allowed.
  package func with(_ change: SettingsChange) throws(RunError) -> Self {
    let known = type(of: settings).descriptions.map(\.name)
    if let unknown = change.names.first(where: { !known.contains($0) }) {
      throw RunError(
        .usage,
        "the \(Kind.noun) \(plugin.name) has no setting `\(unknown)`; "
          + knownNames(known, near: unknown, "it has"))
    }
    var settings = settings
    settings.take(change.names, from: change.settings)
    try settings.check(of: "the \(Kind.noun) \(plugin.name)")
    return Self(plugin, settings: settings)
  }
}

extension NamedKind {
  /// Reads new values from texts, by the settings' names. Throws for a name that the kind does not have, and
  /// for a value that is not allowed.
  package func change(_ texts: [String: String]) throws(RunError) -> SettingsChange {
    SettingsChange(name, settings: try settings(texts), names: texts.keys.sorted())
  }
}
