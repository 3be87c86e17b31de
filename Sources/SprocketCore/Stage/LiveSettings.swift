/// Parsed values of settings of one type of stage.
package protocol SettingValues: AnyObject, Sendable {
  /// These values and the `newer` ones, which replace those of the same settings.
  func merged(with newer: any SettingValues) -> any SettingValues
}

/// The values as closures that store them.
final class StageSettings<S: Stage>: SettingValues {
  private let stores: [String: @Sendable (inout S) -> Void]

  /// Parses those of `values` that `S` declares.
  init(_ values: [String: String]) throws(SettingError) {
    var stores: [String: @Sendable (inout S) -> Void] = [:]
    for setting in S.settings {
      if let text = values[setting.name] { stores[setting.name] = try setting.parseText(text) }
    }
    self.stores = stores
  }

  private init(_ stores: [String: @Sendable (inout S) -> Void]) { self.stores = stores }

  func merged(with newer: any SettingValues) -> any SettingValues {
    guard let newer = newer as? StageSettings<S> else { return self }
    return StageSettings(stores.merging(newer.stores) { $1 })
  }

  func store(in stage: inout S) {
    for store in stores.values { store(&stage) }
  }
}

extension Stage {
  /// Stores values that were parsed for this type of stage; ignores others.
  package mutating func store(_ values: any SettingValues) {
    (values as? StageSettings<Self>)?.store(in: &self)
  }
}

/// New values of a plug-in's live settings, as texts.
public struct ChangedSettings: Sendable, Hashable {
  /// The plug-in's name.
  public var stage: String
  /// By the setting's name.
  public var values: [String: String]

  public init(stage: String, values: [String: String]) {
    self.stage = stage
    self.values = values
  }
}

/// The live settings of all stages of a chain that hold for a frame. Complete, so that an instance of a stage
/// that has missed changes needs only the latest. Never changes.
package final class LiveSettings: Sendable {
  /// By the stage's index; `nil` for a stage whose settings are those of the run's start.
  package let values: [(any SettingValues)?]

  package init(_ values: [(any SettingValues)?]) { self.values = values }
}
