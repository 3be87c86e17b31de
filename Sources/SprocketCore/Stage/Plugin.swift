/// A name and the one or more stages that it adds to a chain.
public struct Plugin: Sendable {
  public let name: String
  /// One line: what it is for.
  public let text: String
  public let stages: [StageKind]

  public init(_ name: String, _ text: String, stages: [StageKind]) {
    self.name = name
    self.text = text
    self.stages = stages
  }

  /// A plug-in of one stage, which has the plug-in's name.
  public init<S: Stage>(_ name: String, _ text: String, _ stage: S.Type) {
    self.init(name, text, stages: [StageKind(name, stage)])
  }

  /// The first setting that two stages describe differently; `nil` in a plug-in that is in order.
  /// One value is given to all of them, so it must mean the same to each.
  public var ambiguousSetting: String? {
    guard stages.count > 1 else { return nil }
    var known: [String: SettingDescription] = [:]
    for setting in stages.flatMap(\.settings) {
      let first = known[setting.name] ?? setting
      guard first.unit == setting.unit, first.allowed == setting.allowed,
        first.defaultText == setting.defaultText
      else { return setting.name }
      known[setting.name] = first
    }
    return nil
  }

  /// Names, allowed values and texts of all settings, each once, in order. A setting of several stages is
  /// live only if it is live in all of them.
  public var settings: [SettingDescription] {
    let all = stages.flatMap(\.settings)
    var seen: Set<String> = []
    return all.filter { seen.insert($0.name).inserted }.map { setting in
      var setting = setting
      setting.isLive = all.allSatisfy { $0.name != setting.name || $0.isLive }
      return setting
    }
  }
}

/// A setting without its owner's type.
public struct SettingDescription: Sendable, Hashable {
  public let name: String
  public let unit: String
  public let allowed: String
  public let choices: [String]
  public let defaultText: String
  public let text: String
  /// Whether it may be changed while the run goes on: see `Stage.retune`.
  public fileprivate(set) var isLive: Bool

  public init<Owner>(_ setting: Setting<Owner>, of owner: Owner) {
    name = setting.name
    unit = setting.unit
    allowed = setting.allowed
    choices = setting.choices
    defaultText = setting.read(from: owner)
    text = setting.text
    isLive = setting.isLive
  }
}

/// A stage without its type: how to make one, and what can be said of it beforehand.
public struct StageKind: Sendable {
  public let name: String
  public let order: Order
  /// Descriptions of all settings. Each read makes them anew: a run uses few of a program's plug-ins, and the
  /// descriptions of all of them cost 10 million instructions at the start.
  public var settings: [SettingDescription] { describeSettings() }
  private let describeSettings: @Sendable () -> [SettingDescription]
  /// Descriptions of all report fields. They are made with the plug-in, so that each start of a program
  /// tells a mistake in them, also where no run uses the stage.
  public let fields: [ReportFieldDescription]
  /// What its report takes in a frame's memory.
  public let reportBytes: Int
  package let reportType: any FrameReport.Type
  /// Makes an instance and applies those of `values` that the stage declares.
  public let make: @Sendable (_ values: [String: String]) throws(SettingError) -> any Stage
  /// Parses those of `values` that the stage declares.
  package let parse:
    @Sendable (_ values: [String: String]) throws(SettingError) -> any SettingValues

  public init<S: Stage>(_ name: String, _ type: S.Type) {
    self.name = name
    order = S.order
    describeSettings = { S.settings.map { SettingDescription($0, of: S()) } }
    fields = S.Report.fields.map(\.description)
    reportBytes = MemoryLayout<S.Report>.size
    reportType = S.Report.self
    parse = { (values) throws(SettingError) in try StageSettings<S>(values) }
    make = { (values) throws(SettingError) in
      var stage = S()
      for setting in S.settings {
        if let text = values[setting.name] { try setting.apply(text, to: &stage) }
      }
      return stage
    }
  }
}
