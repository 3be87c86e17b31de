/// A sink without its type.
public typealias SinkKind = Kind<any Sink, OutputRequest>

/// What holds for every sink of a run.
public struct OutputRequest: KindRequest {
  public static var noun: String { "sink" }
  public static func path(_ kind: String, _ setting: String?) -> SettingPath {
    setting.map { SettingPath("outputs", kind, $0) } ?? SettingPath("outputs", kind)
  }

  /// What the sink is called in a run that has two of a kind; `nil`: as its kind.
  public var name: String?
  /// Returns the description of the run as JSON, for sinks that store it. Returns an empty text for a run
  /// that has no description.
  public var describe: @Sendable () -> String = { "" }
  /// Files that exist may be replaced.
  public var overwrite = false
  /// Makes taps of all sound of the run, for the sink of that name.
  public var makeTaps: @Sendable (_ sink: String) throws(RunError) -> [any AudioTap] = { _ in [] }
  /// How sound is written into files.
  public var sound = RecordedSound()
  /// Frames of the run at most; `nil` without a limit.
  public var frameLimit: UInt64?

  public init() {}
}

extension SinkKind {
  /// Makes a kind with settings. `argument` names the setting that options write behind the kind's name and a
  /// colon; `make` gets the settings, and what holds for all sinks.
  ///
  ///     static let kind = SinkKind("table", "a table of scores", argument: "path", TableSettings.self) {
  ///       (settings, request) throws(RunError) in TableSink(settings, overwrite: request.overwrite)
  ///     }
  public init<Settings: KindSettings>(
    _ name: String, _ text: String, argument: String? = nil, shown: String? = nil,
    isArgumentOptional: Bool = false, _ type: Settings.Type,
    make: @escaping @Sendable (Settings, OutputRequest) throws(RunError) -> any Sink
  ) {
    self.init(name, text, argument, shown: shown, isOptional: isArgumentOptional, type, make)
  }

  /// A kind without settings.
  public init(
    _ name: String, _ text: String,
    make: @escaping @Sendable (OutputRequest) throws(RunError) -> any Sink
  ) {
    self.init(name, text, nil, shown: nil, isOptional: true, NoSettings.self) {
      (_, request) throws(RunError) in try make(request)
    }
  }
}
