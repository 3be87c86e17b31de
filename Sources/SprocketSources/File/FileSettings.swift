public import SprocketCore

/// What a user may choose about a file.
public struct FileSettings: SourceSettings {
  public var pace = SourcePace.fast
  public var startup = 0
  public var from = Duration.zero
  /// Of pictures in files of their own, such as a folder's; `nil`: 25 frames per second. A movie has times of
  /// its own.
  public var rate: FrameRate?

  public init() {}

  public mutating func request(_ request: FormatRequest) throws(RunError) {
    guard request.format == nil, request.size == nil else {
      throw RunError(
        .usage, "this source gives frames as they are: leave out format and size", change: .format,
        .size)
    }
    rate = request.rate
  }

  public static var settings: [Setting<FileSettings>] {
    [
      Setting("pace", \.pace, "fast: as fast as frames are taken; real: each at its time"),
      Setting(
        "from", \.from,
        "begins with the first frame at or after this time, from the first; `sequence` counts from it"
      ),
      Setting(
        "startup", \.startup, range: 0...1_000_000, unit: "frames", "marked as not to be used"),
    ]
  }
}

extension FileSource {
  /// Whether `path` is that of pictures in files of their own.
  public static func namesPictures(_ path: String) -> Bool {
    path != "-" && (try? PictureNames(path)) != nil
  }

  public static let kind = SourceKind(
    "file", "a movie at its own times, or pictures: a folder, shots/*.jpg or Z-%03d.png",
    argument: "PATH",
    FileSettings.self
  ) { (path, settings) throws(RunError) in
    if path != "-", let names = try PictureNames(path) {
      return PictureSource(names, name: path, settings)
    }
    guard settings.rate == nil else {
      throw RunError(
        .usage,
        "\(path) is no folder or pattern of pictures, and a movie has times of its own: leave out rate",
        change: .rate)
    }
    return FileSource(path: path, settings)
  }
}
