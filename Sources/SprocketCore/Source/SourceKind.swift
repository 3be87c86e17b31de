/// What a user may choose of a source, by `--source-set KEY=VALUE`.
public protocol SourceSettings: KindSettings {
  /// Applies the user's `--format`, `--size` and `--rate`. Throws if the source cannot change its frames. The
  /// default implementation throws unless the request is empty.
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
public struct FormatRequest: KindRequest {
  public static var noun: String { "source" }
  public static func path(_ kind: String, _ setting: String?) -> SettingPath {
    setting.map { SettingPath("source", $0) } ?? .source
  }

  public var format: PixelFormat?
  public var size: (width: Int, height: Int)?
  public var rate: FrameRate?

  public init() {}

  public init(
    format: PixelFormat? = nil, size: (width: Int, height: Int)? = nil, rate: FrameRate? = nil
  ) {
    self.format = format
    self.size = size
    self.rate = rate
  }

  public var isEmpty: Bool { format == nil && size == nil && rate == nil }

  /// Returns the rate, for a source that takes nothing else. Throws if a format or a size is wanted.
  package func rateAlone() throws(RunError) -> FrameRate? {
    guard format == nil, size == nil else {
      throw RunError(
        .usage, "this source gives frames as they are: leave out format and size", change: .format,
        .size)
    }
    return rate
  }
}

/// A source without its type.
public typealias SourceKind = Kind<any Source, FormatRequest>

extension SourceKind {
  /// `make` gets what follows the colon (empty where nothing does) and the settings. It need not look at the
  /// device or file: that is what `Source.open` is for.
  public init<Settings: SourceSettings>(
    _ name: String, _ text: String, argument: String? = nil, isArgumentOptional: Bool = false,
    _ type: Settings.Type,
    make: @escaping @Sendable (String, Settings) throws(RunError) -> any Source
  ) {
    self.init(name, text, argument, isOptional: isArgumentOptional, type) {
      (argument, chosen, request) throws(RunError) in
      var chosen = chosen
      try chosen.request(request)
      return try make(argument, chosen)
    }
  }
}
