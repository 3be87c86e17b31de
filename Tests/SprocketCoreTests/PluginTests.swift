import SprocketCore
import TestExpectations
import Testing

@Suite struct PluginTests {
  /// A stage with one setting, `level`, described as `Variant` has it.
  struct Leveled<Variant: LevelVariant>: Stage {
    static var order: Order { .any }
    var level = Variant.start
    static var settings: [Setting<Leveled<Variant>>] {
      [Setting("level", \.level, range: Variant.range, unit: Variant.unit, Variant.text)]
    }
    mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
      setup.format
    }
    mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
  }

  enum Usual: LevelVariant {}
  enum OtherText: LevelVariant { static var text: String { "said in another way" } }
  enum OtherRange: LevelVariant { static var range: ClosedRange<Double> { 0...2 } }
  enum OtherDefault: LevelVariant { static var start: Double { 0.25 } }
  enum OtherUnit: LevelVariant { static var unit: String { "EV" } }

  func ambiguousSetting<Variant: LevelVariant>(_ variant: Variant.Type) -> String? {
    Plugin(
      "two", "two stages",
      stages: [
        StageKind("one", Leveled<Usual>.self), StageKind("other", Leveled<Variant>.self),
      ]
    ).ambiguousSetting
  }

  @Test func aSettingMeansTheSameToAllStagesOfAPlugin() {
    expectNil(ambiguousSetting(Usual.self))
    expectNil(ambiguousSetting(OtherText.self))
    expectEqual(ambiguousSetting(OtherRange.self), "level")
    expectEqual(ambiguousSetting(OtherDefault.self), "level")
    expectEqual(ambiguousSetting(OtherUnit.self), "level")
  }
}

protocol LevelVariant {
  static var range: ClosedRange<Double> { get }
  static var start: Double { get }
  static var unit: String { get }
  static var text: String { get }
}

extension LevelVariant {
  static var range: ClosedRange<Double> { 0...1 }
  static var start: Double { 0.5 }
  static var unit: String { "" }
  static var text: String { "how much" }
}
