import SprocketCore
import TestExpectations
import Testing

@Suite struct PluginTests {
  struct Levels: KindSettings {
    var level = 0.5
    static var settings: [Setting<Self>] { [Setting("level", \.level, range: 0...1, "how much")] }
  }

  struct Others: KindSettings {
    static var settings: [Setting<Self>] { [] }
  }

  /// A stage with settings of a type.
  struct Plain<Settings: KindSettings>: Stage {
    static var order: Order { .any }
    var settings = Settings()
    mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
      setup.format
    }
    mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
  }

  private func plugin<One: KindSettings, Other: KindSettings>(
    _ one: One.Type, _ other: Other.Type
  ) -> Plugin {
    Plugin(
      "two", "two stages",
      stages: [StageKind("one", Plain<One>.self), StageKind("other", Plain<Other>.self)])
  }

  @Test func theStagesOfAPluginShareATypeOfSettings() throws {
    expectNil(plugin(Levels.self, Levels.self).unlikeStage)
    expectNil(plugin(NoSettings.self, Levels.self).unlikeStage)
    expectEqual(plugin(Levels.self, Others.self).unlikeStage, "other")
    let both = plugin(NoSettings.self, Levels.self)
    let made = try StageChoice(both, ["level": "1"])
    let stages = both.stages.map { $0.make(made.settings) }
    expectEqual((stages[1] as? Plain<Levels>)?.settings.level, 1)
    expectTrue(stages[0] is Plain<NoSettings>)
  }

  @Test func aChoiceTakesNoSettingsOfAnotherType() throws {
    var choice = StageChoice(plugin(Levels.self, Levels.self))
    choice[Levels.self]?.level = 0.25
    choice[Others.self] = Others()
    expectEqual(choice[Levels.self]?.level, 0.25)
    expectEqual(choice.settings.chosen.map(\.text), ["0.25"])
    let most = SettingsChange("levels", of: Levels.self) { $0.level = 1 }
    expectEqual(try choice.with(most)[Levels.self]?.level, 1)
    let more = SettingsChange("levels", of: Levels.self) { $0.level = 2 }
    #expect(throws: RunError.self) { try choice.with(more) }
    #expect(throws: RunError.self) { try choice.plugin.change(["lavel": "1"]) }
  }

  /// A property that is set to its default changes, too, and others stay.
  @Test func aChangeNamesWhatIsSet() throws {
    var change = SettingsChange("levels", of: Levels.self) { $0.level = 0.5 }
    expectEqual(change.names, ["level"])
    change.add(SettingsChange("levels", of: Levels.self) { _ in })
    expectEqual(change.texts, ["level": "0.5"])
    expectEqual(SettingsChange("levels", of: Levels.self) { _ in }.names, [])
  }
}
