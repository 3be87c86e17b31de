public import SprocketCore

/// What a user may choose about a dump that is replayed.
public struct ReplaySettings: SourceSettings {
  public var path = InputName("")
  public var live = false
  public var from = Duration.zero
  /// The source of a dump of several, or the topic of another program's file; empty where there is one. Of
  /// such a file, empty takes the first topic that can be played.
  public var stream = ""
  /// Takes a frame's time from its message instead of from the log, if the message has one. For files of
  /// other programs.
  public var stamped = false
  /// Descriptor of a socket on which another program asks for frames by number; -1: the dump is played.
  public var asked = -1

  public init() {}

  public static var settings: [Setting<ReplaySettings>] {
    [
      Setting("path", \.path, "of the dump"),
      Setting(
        "from", \.from,
        "begins with the first frame at or after this time, from the first; numbers are as recorded"
      ),
      Setting(
        "live", \.live,
        "true: frames come when they came, and stages decide anew which are late"),
      Setting(
        "stream", \.stream,
        "which source of a dump of several is played, or which topic of another program's file: its name"
      ),
      Setting(
        "stamped", \.stamped,
        "true: of another program's file, times are those that its messages say, not when they were logged"
      ),
      Setting(
        "asked", \.asked, range: -1...1_000_000,
        "socket on which another program asks for pictures by number (docs/numbers.md); -1: plays the dump"
      ),
    ]
  }
}

extension ReplaySource {
  public static let kind = SourceKind(
    "replay", "a dump, or another MCAP file with images", argument: "path", ReplaySettings.self
  ) { (settings) throws(RunError) in ReplaySource(path: settings.path.path, settings) }
}
