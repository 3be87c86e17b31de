/// A name and the one or more stages that it adds to a chain.
public struct Plugin: NamedKind {
  public static var noun: String { "stage" }
  public static func path(_ kind: String, _ setting: String?) -> SettingPath {
    setting.map { SettingPath("stages", kind, $0) } ?? SettingPath("stages", kind)
  }

  public let name: String
  /// One line: what it is for.
  public let text: String
  public let stages: [StageKind]
  /// The settings of all its stages that have some.
  public let settingsType: any KindSettings.Type

  /// A plug-in of several stages, which share one type of settings; a stage may also have none.
  public init(_ name: String, _ text: String, stages: [StageKind]) {
    self.name = name
    self.text = text
    self.stages = stages
    settingsType =
      stages.first { $0.settingsType != NoSettings.self }?.settingsType ?? NoSettings.self
  }

  /// A plug-in of one stage, which has the plug-in's name.
  public init<S: Stage>(_ name: String, _ text: String, _ stage: S.Type) {
    self.init(name, text, stages: [StageKind(name, stage)])
  }

  /// The first stage that has settings of another type than the stages before it; `nil` in a plug-in that is
  /// in order.
  public var unlikeStage: String? {
    stages.first { $0.settingsType != settingsType && $0.settingsType != NoSettings.self }?.name
  }
}

/// A setting without its owner's type.
public struct SettingDescription: Sendable, Hashable {
  public let name: String
  public let unit: String
  public let allowed: String
  public let choices: [String]
  /// How it is written in files.
  public let forms: [SettingForm]
  /// The least and the largest value, where a range is allowed.
  public let least, most: String?
  /// What a run does with the file that it names; `nil` if it names none.
  public let use: FileUse?
  public let defaultText: String
  public let text: String
  /// Whether it may be changed while the run goes on: see `Stage.retune`.
  public let isLive: Bool

  public init<Owner>(_ setting: Setting<Owner>, of owner: Owner) {
    name = setting.name
    unit = setting.unit
    allowed = setting.allowed
    choices = setting.choices
    (forms, use) = (setting.forms, setting.use)
    (least, most) = (setting.range?.least, setting.range?.most)
    defaultText = setting.read(from: owner)
    text = setting.text
    isLive = setting.isLive
  }
}

/// A stage without its type: how to make one, and what can be said of it beforehand.
public struct StageKind: Sendable {
  public let name: String
  public let order: Order
  public let settingsType: any KindSettings.Type
  /// Descriptions of all report fields. Each read makes them anew: a run uses few of a program's stages, and
  /// the descriptions of all cost 8 million instructions at the start.
  public var fields: [ReportFieldDescription] { describeFields() }
  private let describeFields: @Sendable () -> [ReportFieldDescription]
  /// What its report takes in a frame's memory.
  public let reportBytes: Int
  package let reportType: any FrameReport.Type
  /// Makes an instance with these settings, if they are of the stage's type, or else with the defaults.
  public let make: @Sendable (any KindSettings) -> any Stage

  public init<S: Stage>(_ name: String, _ type: S.Type) {
    self.name = name
    order = S.order
    settingsType = S.Settings.self
    describeFields = { S.Report.fields.map(\.description) }
    reportBytes = MemoryLayout<S.Report>.size
    reportType = S.Report.self
    make = { settings in
      var stage = S()
      stage.store(settings)
      return stage
    }
  }
}
