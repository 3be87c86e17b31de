/// What a user may choose of a source, a microphone, a stage or a sink: a value with a list of its settings.
///
///     struct Settings: KindSettings {
///       var strength = 0.5
///       static var settings: [Setting<Self>] {
///         [Setting("strength", \.strength, range: 0...1, "light lost in the very corners")]
///       }
///     }
public protocol KindSettings: Sendable, Equatable {
  /// Its settings, in the order of help and files.
  static var settings: [Setting<Self>] { get }
  /// The defaults.
  init()
  /// Errors for values that are wrong together, or that no device and no frames make right: what
  /// `sprocket check` tells. `path` returns the path of a setting. By default there are none.
  func errors(at path: (String) -> SettingPath) -> [RunError]
}

/// The settings of a kind that leaves nothing to choose.
public struct NoSettings: KindSettings {
  public init() {}
  public static var settings: [Setting<Self>] { [] }
}

extension KindSettings {
  public func errors(at path: (String) -> SettingPath) -> [RunError] { [] }

  public func isEqual(to other: any KindSettings) -> Bool { (other as? Self) == self }

  /// Descriptions of all settings, in their order. Each read makes them anew.
  public static var descriptions: [SettingDescription] {
    let usual = Self()
    return settings.map { SettingDescription($0, of: usual) }
  }

  /// Names of all settings.
  static var names: [String] { settings.map(\.name) }

  /// The settings that differ from their defaults, as texts, in their order.
  public var chosen: [(name: String, text: String)] {
    let usual = Self()
    return Self.settings.compactMap { setting in
      let text = setting.read(from: self)
      return text == setting.read(from: usual) ? nil : (setting.name, text)
    }
  }

  /// The value of a setting as text; `nil` if there is no such setting.
  public func text(of name: String) -> String? {
    Self.settings.first { $0.name == name }?.read(from: self)
  }

  /// Sets one value from its text. Throws if it is not allowed, or if there is no such setting.
  public mutating func set(_ name: String, to text: String) throws(SettingError) {
    guard let setting = Self.settings.first(where: { $0.name == name }) else {
      throw SettingError(
        name: name, given: text, allowed: Self.settings.map(\.name).joined(separator: ", "),
        unit: "")
    }
    try setting.apply(text, to: &self)
  }

  /// Throws for a value that is not allowed, as it would be where it is given as text. `owner` is what the
  /// error calls it, such as "the source scene", and `path` that of a setting.
  public func check(
    of owner: String, at path: (String) -> SettingPath = { .source($0) }
  ) throws(RunError) {
    var copy = self
    do throws(SettingError) {
      for setting in Self.settings { try setting.apply(setting.read(from: self), to: &copy) }
    } catch {
      throw RunError(refused: error, at: path(error.name), of: owner)
    }
  }
}

/// A source, a microphone, a stage or a sink, as it is named in the description of a run.
public protocol NamedKind: Sendable {
  /// What the kinds are called in sentences: `source`, `stage`.
  static var noun: String { get }
  /// Returns the path of the kind of that name, or of a setting of it.
  static func path(_ kind: String, _ setting: String?) -> SettingPath

  /// What options and files call it: letters, digits, `-` and `_`.
  var name: String { get }
  /// One line: what it is for.
  var text: String { get }
  /// The setting that options write behind the name and a colon, such as `path`; `nil` if there is none.
  var argument: String? { get }
  /// The type of its settings, whose `init()` has the defaults.
  var settingsType: any KindSettings.Type { get }
  /// Mistakes of the kind's author: a name that no option can name, two settings or two fields of a report
  /// with one name, a default that is not allowed. No run begins with such a kind.
  var mistakes: [RunError] { get }
  /// Errors for settings with which nothing can be made, whatever the device and the frames are. `path`
  /// returns the path of a setting, or of the whole.
  func errors(of settings: any KindSettings, at path: (String?) -> SettingPath) -> [RunError]
}

extension NamedKind {
  public var argument: String? { nil }

  public func errors(
    of settings: any KindSettings, at path: (String?) -> SettingPath
  ) -> [RunError] { settings.errors { path($0) } }

  /// Descriptions of all settings. Each read makes them anew: a run uses few of a program's kinds, and the
  /// descriptions of all of them cost 10 million instructions at the start.
  public var settings: [SettingDescription] { settingsType.descriptions }

  /// Names of all settings.
  public var settingNames: [String] { settingsType.names }

  /// Reads settings from texts, by their names; those that are not named keep the value that they have in
  /// `base`, or their default. Throws for a name that it does not have, and for a value that is not allowed.
  public func settings(
    _ texts: [String: String], from base: (any KindSettings)? = nil
  ) throws(RunError) -> any KindSettings {
    var chosen = base ?? settingsType.init()
    guard !texts.isEmpty else { return chosen }
    let known = settingNames
    if let unknown = texts.keys.sorted().first(where: { !known.contains($0) }) {
      throw RunError(
        .usage,
        "the \(Self.noun) \(name) has no setting `\(unknown)`; "
          + knownNames(known, near: unknown, "it has"), change: Self.path(name, unknown))
    }
    do throws(SettingError) {
      for key in known {
        if let text = texts[key] { try chosen.set(key, to: text) }
      }
    } catch {
      throw RunError(
        refused: error, at: Self.path(name, error.name), of: "the \(Self.noun) \(name)")
    }
    return chosen
  }
}

/// A kind in a chain, and its settings.
public struct Choice<Kind: NamedKind>: Sendable, Equatable {
  public let plugin: Kind
  /// Has the type `plugin.settingsType`.
  public private(set) var settings: any KindSettings

  public init(_ plugin: Kind) { (self.plugin, settings) = (plugin, plugin.settingsType.init()) }

  /// Chooses settings by their names, as they are written on the command line and in files. Throws for a name
  /// that the kind does not have, and for a value that is not allowed.
  public init(_ plugin: Kind, _ texts: [String: String]) throws(RunError) {
    (self.plugin, settings) = (plugin, try plugin.settings(texts))
  }

  package init(_ plugin: Kind, settings: any KindSettings) {
    (self.plugin, self.settings) = (plugin, settings)
  }

  /// The settings as a value of their type; `nil` if they are of another type. A value of another type cannot
  /// be stored.
  public subscript<Settings: KindSettings>(_ type: Settings.Type) -> Settings? {
    get { settings as? Settings }
    set { if let newValue, plugin.settingsType == type { settings = newValue } }
  }

  public static func == (one: Self, other: Self) -> Bool {
    one.plugin.name == other.plugin.name && one.settings.isEqual(to: other.settings)
  }
}

extension Choice where Kind == Plugin {
  /// Chooses settings by the properties of a stage's settings:
  ///
  ///     StageChoice(Vignette.plugin, of: Vignette.self) { $0.strength = 0.8 }
  ///
  /// `Owner` is a stage of the plug-in.
  public init<Owner: Stage>(
    _ plugin: Plugin, of owner: Owner.Type, _ choose: (inout Owner.Settings) -> Void
  ) {
    var settings = Owner.Settings()
    choose(&settings)
    self.init(plugin, settings: settings)
  }
}

extension Choice where Kind == AudioPlugin {
  /// Chooses settings by the properties of an audio stage's settings.
  public init<Owner: AudioStage>(
    _ plugin: AudioPlugin, of owner: Owner.Type, _ choose: (inout Owner.Settings) -> Void
  ) {
    var settings = Owner.Settings()
    choose(&settings)
    self.init(plugin, settings: settings)
  }
}

/// A plug-in in a chain of pictures, and its settings.
public typealias StageChoice = Choice<Plugin>

/// An audio stage in a chain, and its settings.
public typealias AudioChoice = Choice<AudioPlugin>
