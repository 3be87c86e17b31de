import SprocketCore
import TestExpectations
import Testing

/// Mistakes in declarations, each told by one sentence.
@Suite struct DeclarationTests {
  struct Usual: KindSettings {
    var level = 0.5
    static var settings: [Setting<Self>] { [Setting("level", \.level, range: 0...1, "how much")] }
  }

  struct Beyond: KindSettings {
    var level = 1.5
    var mode = 3
    static var settings: [Setting<Self>] {
      [
        Setting("level", \.level, range: 0...1, unit: "parts", "how much"),
        Setting("mode", \.mode, range: 0...2, "which"),
      ]
    }
  }

  struct Twice: KindSettings {
    var level = 0.5
    var other = 0.5
    static var settings: [Setting<Self>] {
      [
        Setting("level", \.level, range: 0...1, "how much"),
        Setting("level", \.other, range: 0...1, "how much of the other"),
      ]
    }
  }

  struct Unnamed: KindSettings {
    var level = 0.5
    static var settings: [Setting<Self>] { [Setting("a=b", \.level, range: 0...1, "how much")] }
  }

  struct Fields: FrameReport {
    var one = 0.0
    var other = 0.0
    static var fields: [ReportField<Self>] {
      [ReportField("score", \.one), ReportField("score", \.other)]
    }
  }

  struct Items: FrameReport {
    var count: UInt32 = 0
    var items = InlineArray<2, Fields>(repeating: Fields())
    static var fields: [ReportField<Self>] {
      [ReportField("count", \.count), ReportField("items", \.items, count: \.count)]
    }
  }

  struct Declared<Settings: KindSettings, Report: FrameReport>: Stage {
    static var order: Order { .any }
    var settings = Settings()
    mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
      setup.format
    }
    mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
  }

  private func mistakes<Settings: KindSettings, Report: FrameReport>(
    _ name: String, _ settings: Settings.Type = NoSettings.self,
    _ report: Report.Type = NoReport.self
  ) -> [String] {
    Plugin(name, "a stage", Declared<Settings, Report>.self).mistakes.map(\.description)
  }

  @Test func whatIsDeclaredWellHasNoMistake() {
    for name in ["focus", "two-words", "two_words", "4th", "größe"] {
      expectEqual(mistakes(name, Usual.self), [])
    }
  }

  @Test(arguments: ["", "a:b", "a,b", "a=b", "a b", "a.b", "-a", "a/b", "{a}", "a\n"])
  func aNameThatNoOptionCanNameIsAMistake(_ name: String) {
    expectEqual(
      mistakes(name, Beyond.self),
      [
        "a stage is called `\(printable(name))`, which no option can name; use letters, digits, - and _"
      ])
  }

  @Test func eachDefaultThatIsNotAllowedIsAMistake() {
    expectEqual(
      mistakes("mine", Beyond.self),
      [
        "the default of the stage mine: level=1.5 is not allowed: give 0 to 1 (parts)",
        "the default of the stage mine: mode=3 is not allowed: give 0 to 2",
      ])
  }

  /// A report's key would be there twice, and a step of the summary, too.
  @Test func aNameOfTheEnginesOwnIsAMistake() {
    struct Score: FrameReport {
      var score = 0.0
      static var fields: [ReportField<Self>] { [ReportField("score", \.score)] }
    }
    func sentence(_ name: String) -> [String] {
      ["a stage is called `\(name)`, as something of the engine's own; give it another name"]
    }
    for name in ["unpack", "pack", "select"] { expectEqual(mistakes(name), sentence(name)) }
    for name in Plugin.keysOfReports {
      expectEqual(mistakes(name, Usual.self, Score.self), sentence(name))
      expectEqual(mistakes(name), [])
    }
  }

  @Test func twoOfOneNameAreAMistake() {
    expectEqual(
      mistakes("mine", Twice.self),
      ["the stage mine has two settings called `level`; rename one of them"])
    expectEqual(
      mistakes("mine", Usual.self, Fields.self),
      ["the stage mine reports two fields called `score`; rename one of them"])
    expectEqual(
      mistakes("mine", Usual.self, Items.self),
      ["the stage mine reports two fields called `items.score`; rename one of them"])
    let kind = StageKind("part", Declared<Usual, NoReport>.self)
    expectEqual(
      Plugin("mine", "two stages", stages: [kind, kind]).mistakes.map(\.description),
      ["the stage mine has two stages called `part`; rename one of them"])
  }

  @Test func aSettingThatNoOptionCanNameIsAMistake() {
    expectEqual(
      mistakes("mine", Unnamed.self),
      [
        "the stage mine has a setting called `a=b`, which no option can name; use letters, digits, - and _"
      ])
  }
}
