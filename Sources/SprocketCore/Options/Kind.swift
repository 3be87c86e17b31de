/// A source or a sink without its type: its name, what can be said of it beforehand, and how to make one.
public struct Kind<Made, Request: KindRequest>: Sendable {
  /// What `--source` or `--sink` calls it.
  public let name: String
  /// One line: what it is for.
  public let text: String
  /// What follows the name and a colon, such as `PATH`; `nil` where nothing may. A sink's `PATH` is a file
  /// that it writes: the command line checks it against the other files of the run.
  public let argument: String?
  /// The name may stand without it.
  public let isArgumentOptional: Bool
  /// Descriptions of all settings. Each read makes them anew, so that they cost nothing at the start.
  public var settings: [SettingDescription] { describeSettings() }
  private let describeSettings: @Sendable () -> [SettingDescription]
  private let makeIt: @Sendable (String, [String: String], Request) throws(RunError) -> Made

  /// `make` gets what follows the colon (empty where nothing does) and the settings.
  package init<Settings: KindSettings>(
    _ name: String, _ text: String, _ argument: String?, isOptional: Bool, _ type: Settings.Type,
    _ make: @escaping @Sendable (String, Settings, Request) throws(RunError) -> Made
  ) {
    self.name = name
    self.text = text
    self.argument = argument
    isArgumentOptional = isOptional
    describeSettings = { Settings.settings.map { SettingDescription($0, of: Settings()) } }
    makeIt = { (argument, values, request) throws(RunError) in
      var chosen = Settings()
      do throws(SettingError) {
        for setting in Settings.settings {
          if let value = values[setting.name] { try setting.apply(value, to: &chosen) }
        }
      } catch {
        throw RunError(
          refused: error, at: Request.path(name, error.name), of: "the \(Request.noun) \(name)")
      }
      return try make(argument, chosen, request)
    }
  }

  /// As it is written behind its option: `scene`, `file:PATH`, `camera[:NAME]`.
  public var usage: String {
    guard let argument else { return name }
    return isArgumentOptional ? "\(name)[:\(argument)]" : "\(name):\(argument)"
  }

  /// Makes one. Throws `.usage` for a missing or needless argument, a key that it does not have, and a value
  /// that is not allowed.
  public func make(
    argument given: String = "", values: [String: String] = [:], request: Request = Request()
  ) throws(RunError) -> Made {
    if let argument, given.isEmpty, !isArgumentOptional {
      throw RunError(
        .usage, "the \(Request.noun) \(name) needs more: give \(name):\(argument)",
        change: Request.path(name, nil))
    }
    if argument == nil, !given.isEmpty {
      if let equals = given.firstIndex(of: "="),
        settings.contains(where: { $0.name == given[..<equals] })
      {
        throw RunError(
          .usage,
          "the \(Request.noun) \(name) takes nothing behind a colon: give \(given) as a setting",
          change: Request.path(name, String(given[..<equals])))
      }
      throw RunError(
        .usage, "the \(Request.noun) \(name) takes nothing behind a colon: leave out \(given)",
        change: Request.path(name, nil))
    }
    let known = settings.map(\.name)
    if let unknown = values.keys.sorted().first(where: { !known.contains($0) }) {
      throw RunError(
        .usage,
        "the \(Request.noun) \(name) has no setting `\(unknown)`; "
          + knownNames(known, near: unknown, "it has"), change: Request.path(name, unknown))
    }
    return try makeIt(given, values, request)
  }
}

/// What a user may choose of a source or a sink, by `KEY=VALUE`.
public protocol KindSettings: Sendable {
  static var settings: [Setting<Self>] { get }
  /// The defaults.
  init()
}

extension KindSettings {
  /// Throws for a value that is not allowed, as it would be where it is given as text. `owner` is what the
  /// error calls it, such as "the source scene".
  public func check(of owner: String) throws(RunError) {
    var copy = self
    do throws(SettingError) {
      for setting in Self.settings { try setting.apply(setting.read(from: self), to: &copy) }
    } catch {
      throw RunError(refused: error, at: .source(error.name), of: owner)
    }
  }
}

/// What every source, or every sink, is made with.
public protocol KindRequest: Sendable {
  init()
  static var noun: String { get }
  /// Returns the path of the kind of that name, or of a setting of it.
  static func path(_ kind: String, _ setting: String?) -> SettingPath
}
