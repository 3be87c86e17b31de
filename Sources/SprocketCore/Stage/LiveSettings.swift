extension Stage {
  /// Stores settings of this stage's type; ignores others.
  package mutating func store(_ settings: any KindSettings) {
    if let own = settings as? Settings { self.settings = own }
  }
}

/// New values of a plug-in's live settings, as files and news tell of them.
public struct ChangedSettings: Sendable, Hashable {
  /// The plug-in's name.
  public var stage: String
  /// By the setting's name.
  public var values: [String: String]

  public init(stage: String, values: [String: String]) {
    self.stage = stage
    self.values = values
  }

  package init(_ change: SettingsChange) {
    (stage, values) = (change.stage, change.texts)
  }
}

/// The settings of all stages of a chain that hold for a frame. Complete, so that an instance of a stage that
/// has missed changes needs only the latest. Never changes.
package final class LiveSettings: Sendable {
  package struct Value: Sendable {
    package let settings: any KindSettings
    /// Number of the request that changed them last: a request may give the same values again.
    package let request: UInt64

    package init(_ settings: any KindSettings, request: UInt64) {
      (self.settings, self.request) = (settings, request)
    }
  }

  /// By the stage's index; `nil` for a stage whose settings are those of the run's start.
  package let values: [Value?]

  package init(_ values: [Value?]) { self.values = values }
}
