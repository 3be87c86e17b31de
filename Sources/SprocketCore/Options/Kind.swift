/// A source, a microphone or a sink without its type: its name, what can be said of it beforehand, and how to
/// make one.
public struct Kind<Made, Request: KindRequest>: NamedKind {
  public static var noun: String { Request.noun }
  public static func path(_ kind: String, _ setting: String?) -> SettingPath {
    Request.path(kind, setting)
  }

  /// What `--source` or `--sink` calls it.
  public let name: String
  /// One line: what it is for.
  public let text: String
  /// The setting that options write behind the name and a colon, such as `path`; `nil` if there is none.
  public let argument: String?
  /// How help shows that value, such as `PATH`.
  public let shownArgument: String
  /// The name may stand without it.
  public let isArgumentOptional: Bool
  public let settingsType: any KindSettings.Type
  private let makeIt: @Sendable (any KindSettings, Request) throws(RunError) -> Made

  package init<Settings: KindSettings>(
    _ name: String, _ text: String, _ argument: String?, shown: String?, isOptional: Bool,
    _ type: Settings.Type,
    _ make: @escaping @Sendable (Settings, Request) throws(RunError) -> Made
  ) {
    self.name = name
    self.text = text
    self.argument = argument
    shownArgument = shown ?? argument?.uppercased() ?? ""
    isArgumentOptional = isOptional
    settingsType = type
    makeIt = { (settings, request) throws(RunError) in
      guard let own = settings as? Settings else {
        throw RunError(
          .usage,
          "the \(Request.noun) \(name) is given settings of another kind, "
            + "\(Swift.type(of: settings)); give it \(type)", change: Request.path(name, nil))
      }
      return try make(own, request)
    }
  }

  /// As it is written behind its option: `scene`, `file:PATH`, `camera[:NAME]`.
  public var usage: String {
    guard argument != nil else { return name }
    return isArgumentOptional ? "\(name)[:\(shownArgument)]" : "\(name):\(shownArgument)"
  }

  /// Makes one. Throws `.usage` for settings of another type, and if what the kind is about is not named.
  public func make(
    _ settings: any KindSettings, request: Request = Request()
  ) throws(RunError) -> Made {
    if let error = errors(of: settings, at: { Request.path(name, $0) }).first { throw error }
    return try makeIt(settings, request)
  }

  public func errors(
    of settings: any KindSettings, at path: (String?) -> SettingPath
  ) -> [RunError] {
    var errors = settings.errors { path($0) }
    if let argument, !isArgumentOptional, isDefaultNone(of: argument),
      settings.text(of: argument) == settingsType.init().text(of: argument)
    {
      let sentence = "the \(Request.noun) \(name) needs more: give \(name):\(shownArgument)"
      errors.insert(RunError(.usage, sentence, change: path(nil)), at: 0)
    }
    return errors
  }

  /// Whether the setting has to be given: its default is empty, or not allowed.
  private func isDefaultNone(of setting: String) -> Bool {
    let usual = settingsType.init()
    return usual.text(of: setting)?.isEmpty ?? true
      || usual.refusals.contains { $0.name == setting }
  }

  /// Reads settings from what follows the name and a colon, and from texts by their names. Throws for a
  /// needless argument, a name that it does not have, and a value that is not allowed.
  public func settings(
    argument: String, _ texts: [String: String]
  ) throws(RunError) -> any KindSettings {
    try settings(self.texts(argument: argument, texts))
  }

  /// Adds what follows the name and a colon to texts, as the setting that it is. Throws where it is none.
  package func texts(
    argument given: String, _ texts: [String: String]
  ) throws(RunError) -> [String: String] {
    guard !given.isEmpty else { return texts }
    guard let argument else {
      let name = given.firstIndex(of: "=").map { String(given[..<$0]) }
      let isSetting = settings.contains { $0.name == name }
      throw RunError(
        .usage,
        "the \(Request.noun) \(self.name) takes nothing behind a colon: "
          + (isSetting ? "give \(given) as a setting" : "leave out \(given)"),
        change: Request.path(self.name, isSetting ? name : nil))
    }
    guard texts[argument] == nil else {
      throw RunError(
        .usage, "the \(Request.noun) \(name): \(argument) is given twice; give it once",
        change: Request.path(name, argument))
    }
    var texts = texts
    texts[argument] = given
    return texts
  }

  /// Makes one from what follows the name and a colon, and from texts by their names.
  public func make(
    argument: String = "", values: [String: String] = [:], request: Request = Request()
  ) throws(RunError) -> Made {
    try make(settings(argument: argument, values), request: request)
  }
}

/// What every source, or every sink, is made with.
public protocol KindRequest: Sendable {
  /// With nothing asked for.
  init()
  /// What the kinds are called in sentences: `source`, `sink`.
  static var noun: String { get }
  /// Returns the path of the kind of that name, or of a setting of it.
  static func path(_ kind: String, _ setting: String?) -> SettingPath
}
