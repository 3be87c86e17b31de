public import SprocketCore

/// What a user may choose about a file.
public struct FileSettings: SourceSettings {
  public var pace = SourcePace.fast
  public var startup = 0
  public var from = Duration.zero

  public init() {}

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
  public static let kind = SourceKind(
    "file", "a video file of this machine, at its own times", argument: "PATH", FileSettings.self
  ) { (path, settings) throws(RunError) in FileSource(path: path, settings) }
}
