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

extension NoSettings: SourceSettings {}

/// What kind of frames the user wants; `nil` for what may be as the source likes.
public struct FormatRequest: KindRequest, Hashable {
  public static var noun: String { "source" }
  public static func path(_ kind: String, _ setting: String?) -> SettingPath {
    setting.map { SettingPath("source", $0) } ?? .source
  }

  /// How pixels are to be delivered.
  public var format: PixelFormat?
  /// Width and height in pixels.
  public var size: FrameSize?
  /// Frames per second.
  public var rate: FrameRate?

  public init() {}

  public init(format: PixelFormat? = nil, size: FrameSize? = nil, rate: FrameRate? = nil) {
    self.format = format
    self.size = size
    self.rate = rate
  }

  /// Whether nothing is asked for.
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

/// Width and height in pixels, spelled `1280x720`.
public struct FrameSize: Sendable, Hashable, SettingValue {
  public var width: Int
  public var height: Int

  public init(_ width: Int, _ height: Int) { (self.width, self.height) = (width, height) }

  public init?(settingText: String) {
    let sides = settingText.lowercased().split(separator: "x", omittingEmptySubsequences: false)
      .map { Int($0) ?? 0 }
    guard sides.count == 2, sides.allSatisfy({ $0 > 0 }) else { return nil }
    self.init(sides[0], sides[1])
  }
  public var settingText: String { "\(width)x\(height)" }
  public static var allowed: String { "width and height in pixels, such as 1280x720" }
  public static var forms: [SettingForm] { [.text(pattern: "[1-9][0-9]*[xX][1-9][0-9]*")] }
}

/// A source without its type.
public typealias SourceKind = Kind<any Source, FormatRequest>

extension SourceKind {
  /// `argument` is the setting whose value may follow the kind's name and a colon. `make` need not look at
  /// the device or file: that is what `Source.open` is for.
  public init<Settings: SourceSettings>(
    _ name: String, _ text: String, argument: String? = nil, shown: String? = nil,
    isArgumentOptional: Bool = false, _ type: Settings.Type,
    make: @escaping @Sendable (Settings) throws(RunError) -> any Source
  ) {
    self.init(name, text, argument, shown: shown, isOptional: isArgumentOptional, type) {
      (chosen, request) throws(RunError) in
      var chosen = chosen
      try chosen.request(request)
      return try make(chosen)
    }
  }
}
