/// What a user may choose of a source, by `--source-set KEY=VALUE`.
public protocol SourceSettings: Sendable {
  static var settings: [Setting<Self>] { get }
  /// The defaults.
  init()
  /// Takes what the user asked for by `--format`, `--size` and `--rate`. Throws where the source
  /// gives what it gives; that is also what happens unless this is implemented.
  mutating func request(_ request: FormatRequest) throws(RunError)
}

extension SourceSettings {
  public mutating func request(_ request: FormatRequest) throws(RunError) {
    guard !request.isEmpty else { return }
    throw RunError(
      .usage, "this source gives frames as they are: leave out format, size and rate",
      change: .format, .size, .rate)
  }
}

/// What kind of frames the user wants; `nil` for what may be as the source likes.
public struct FormatRequest: Sendable {
  public var format: PixelFormat?
  public var size: (width: Int, height: Int)?
  public var rate: FrameRate?

  public init(
    format: PixelFormat? = nil, size: (width: Int, height: Int)? = nil, rate: FrameRate? = nil
  ) {
    self.format = format
    self.size = size
    self.rate = rate
  }

  public var isEmpty: Bool { format == nil && size == nil && rate == nil }
}

/// A source without its type: its name, what can be said of it beforehand, and how to make one.
public struct SourceKind: Sendable {
  /// What `--source` calls it.
  public let name: String
  /// One line: what it is for.
  public let text: String
  /// What follows the name and a colon, such as `PATH`; `nil` where nothing may.
  public let argument: String?
  /// The name may stand without it.
  public let isArgumentOptional: Bool
  public let settings: [SettingDescription]
  private let makeSource:
    @Sendable (String, [String: String], FormatRequest)
      throws(RunError) -> any Source

  /// `make` gets what follows the colon (empty where nothing does) and the settings. It need not look
  /// at the device or file: that is what `Source.open` is for.
  public init<Settings: SourceSettings>(
    _ name: String, _ text: String, argument: String? = nil, isArgumentOptional: Bool = false,
    _ type: Settings.Type,
    make: @escaping @Sendable (String, Settings) throws(RunError) -> any Source
  ) {
    self.name = name
    self.text = text
    self.argument = argument
    self.isArgumentOptional = isArgumentOptional
    settings = Settings.settings.map { SettingDescription($0, of: Settings()) }
    makeSource = { (argument, values, request) throws(RunError) in
      var chosen = Settings()
      do throws(SettingError) {
        for setting in Settings.settings {
          if let value = values[setting.name] { try setting.apply(value, to: &chosen) }
        }
      } catch {
        throw RunError(.usage, "the source \(name): \(error)", change: .sourceSetting)
      }
      try chosen.request(request)
      return try make(argument, chosen)
    }
  }

  /// As it is written behind `--source`: `scene`, `file:PATH`, `camera[:NAME]`.
  public var usage: String {
    guard let argument else { return name }
    return isArgumentOptional ? "\(name)[:\(argument)]" : "\(name):\(argument)"
  }

  /// Makes a source. Throws `.usage` for a missing or needless argument, a key that it does not
  /// have, and a value that is not allowed.
  public func make(
    argument given: String = "", values: [String: String] = [:],
    request: FormatRequest = FormatRequest()
  ) throws(RunError) -> any Source {
    if let argument, given.isEmpty, !isArgumentOptional {
      throw RunError(
        .usage, "the source \(name) needs more: give \(name):\(argument)", change: .source)
    }
    if argument == nil, !given.isEmpty {
      throw RunError(
        .usage, "the source \(name) takes nothing behind a colon: leave out \(given)",
        change: .source)
    }
    let known = settings.map(\.name)
    if let unknown = values.keys.sorted().first(where: { !known.contains($0) }) {
      throw RunError(
        .usage,
        "the source \(name) has no setting `\(unknown)`; "
          + knownNames(known, near: unknown, "it has"))
    }
    return try makeSource(given, values, request)
  }
}
