public import SprocketCore

/// What a user may choose about a file.
public struct FileSettings: SourceSettings {
  /// Name of a movie, or of pictures: a folder, or a pattern.
  public var path = InputName("")
  /// `nil`: `fast`, unless a run says otherwise.
  public var pace: SourcePace?
  public var startup = 0
  public var from = Duration.zero
  /// Frame rate of sources without times: a folder of pictures, or Motion JPEG and H.264 without a container.
  /// `nil`: 25 frames per second. A movie has times of its own, and refuses a rate.
  public var rate: FrameRate?
  /// Number of a stream of the file, as ffprobe counts; -1: the one that is marked as default, or else the
  /// largest.
  public var stream = -1
  /// Descriptor of a socket on which another program asks for pictures by number; -1: the file is played.
  public var asked = -1

  public init() {}

  public mutating func request(_ request: FormatRequest) throws(RunError) {
    rate = try request.rateAlone()
  }

  public static var settings: [Setting<FileSettings>] {
    [
      Setting("path", \.path, "of a movie, or pictures: a folder, shots/*.jpg or Z-%03d.png"),
      Setting(
        "pace", \.pace,
        "fast: as fast as frames are taken; real: each at its time; auto: fast, but into a virtual camera"
      ),
      Setting(
        "from", \.from,
        "begins with the first frame at or after this time, from the first; `sequence` counts from it"
      ),
      Setting(
        "stream", \.stream, range: -1...1_000_000,
        "of several films in a file the one, as ffprobe counts; -1: the default, or the largest"),
      Setting(
        "asked", \.asked, range: -1...1_000_000,
        "socket on which another program asks for pictures by number (docs/numbers.md); -1: plays the file"
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

  static func noFilm(_ path: String) -> RunError {
    RunError(.usage, "\(path) is no film: its pictures have no numbers; give a movie, or play it")
  }

  public static let kind = SourceKind(
    "file", "a movie at its own times, or pictures: a folder, shots/*.jpg or Z-%03d.png",
    argument: "path", FileSettings.self
  ) { (settings) throws(RunError) in
    let path = settings.path.path
    if path != "-", let names = try PictureNames(path) {
      guard settings.asked < 0 else { throw noFilm(path) }
      return PictureSource(names, name: path, settings)
    }
    return FileSource(path: path, settings)
  }
}
