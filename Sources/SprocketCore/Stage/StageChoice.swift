/// A plug-in in a chain, and the settings of it that differ from their defaults.
public struct StageChoice: Sendable {
  public var plugin: Plugin
  /// By name, as they are written on the command line. Checked when the run is set up.
  public var values: [String: String]

  public init(_ plugin: Plugin, values: [String: String] = [:]) {
    self.plugin = plugin
    self.values = values
  }

  /// Chooses settings by the properties that `Owner.settings` name:
  ///
  ///     StageChoice(Vignette.plugin, of: Vignette.self) { $0.strength = 0.8 }
  ///
  /// `Owner` is a stage of the plug-in that has all settings to be chosen; the plug-in's other stages get
  /// those that they declare, too. A property that is not a setting has no effect.
  public init<Owner: Stage>(
    _ plugin: Plugin, of owner: Owner.Type, _ choose: (inout Owner) -> Void
  ) {
    let usual = Owner()
    var chosen = usual
    choose(&chosen)
    self.init(plugin)
    for setting in Owner.settings {
      let value = setting.read(from: chosen)
      if value != setting.read(from: usual) { values[setting.name] = value }
    }
  }
}
