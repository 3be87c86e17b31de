/// Names a setting in the description of a run: `source.size`, `stages.focus.window`,
/// `outputs.movie.codec`. The command line has an option for it.
public struct SettingPath: Sendable, Hashable, CustomStringConvertible {
  public let steps: [String]

  public init(_ steps: String...) { self.steps = steps }

  public var description: String { steps.joined(separator: ".") }

  public static let source = Self("source")
  public static func source(_ setting: String) -> Self { Self("source", setting) }
  public static let format = Self("source", "format")
  public static let size = Self("source", "size")
  public static let rate = Self("source", "rate")
  public static let stage = Self("stages")
  public static let microphone = Self("sound")
  public static let audioStage = Self("sound", "stages")
  public static let audioRate = Self("sound", "rate")
  public static let audioChannels = Self("sound", "channels")
  public static let audioCodec = Self("sound", "codec")
  public static let sink = Self("outputs")
  public static let codec = Self("outputs", "movie", "codec")
  public static let pipe = Self("outputs", "pipe")
  public static let virtual = Self("outputs", "virtual")
  public static let duration = Self("duration")
  public static let workers = Self("workers")
  public static let memory = Self("memory")
  public static let overwrite = Self("overwrite")
}

/// A value that its setting does not take.
public struct RefusedValue: Sendable {
  public let path: SettingPath
  public let error: SettingError
}
