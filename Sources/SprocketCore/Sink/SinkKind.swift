/// A sink without its type.
public typealias SinkKind = Kind<any Sink, OutputRequest>

/// What holds for every sink of a run.
public struct OutputRequest: KindRequest {
  public static var noun: String { "sink" }
  public static func path(_ kind: String, _ setting: String?) -> SettingPath {
    setting.map { SettingPath("outputs", kind, $0) } ?? SettingPath("outputs", kind)
  }

  /// Files that exist may be replaced.
  public var overwrite = false
  /// Longest time that what was recorded stays off the disk; `nil`: as long as the kernel likes.
  public var sync: Duration?
  /// Whether a sink that is a `Recorder` waits for requests.
  public var isOnDemand = false
  /// Limits and pre-roll of recordings, for a sink that waits for requests.
  public var limits = RecordingLimits()
  public var preRoll: PreRoll?
  /// Makes taps of all sound of the run, for the sink of that name.
  public var makeTaps: @Sendable (_ sink: String) throws(RunError) -> [any AudioTap] = { _ in [] }
  /// How sound is written into files.
  public var sound = RecordedSound()
  /// Frames of the run at most; `nil` without a limit.
  public var frameLimit: UInt64?

  public init() {}
}

extension SinkKind {
  /// A kind with settings. `make` gets what follows the colon, the settings, and what holds for all sinks.
  ///
  ///     static let kind = SinkKind("table", "a table of scores", argument: "PATH", TableSettings.self) {
  ///       (path, settings, request) throws(RunError) in
  ///       TableSink(path: path, settings, overwrite: request.overwrite)
  ///     }
  public init<Settings: KindSettings>(
    _ name: String, _ text: String, argument: String? = nil, isArgumentOptional: Bool = false,
    _ type: Settings.Type,
    make: @escaping @Sendable (String, Settings, OutputRequest) throws(RunError) -> any Sink
  ) {
    self.init(name, text, argument, isOptional: isArgumentOptional, type, make)
  }

  /// A kind without settings.
  public init(
    _ name: String, _ text: String, argument: String? = nil, isArgumentOptional: Bool = false,
    make: @escaping @Sendable (String, OutputRequest) throws(RunError) -> any Sink
  ) {
    self.init(name, text, argument, isOptional: isArgumentOptional, NoSettings.self) {
      (argument, _, request) throws(RunError) in try make(argument, request)
    }
  }
}

private struct NoSettings: KindSettings {
  static var settings: [Setting<NoSettings>] { [] }
}
