import Sprocket
import SprocketPipelines
import SprocketStages
import TestExpectations
import Testing

/// Lists of kinds, and mistakes in them.
@Suite struct KindsTests {
  private struct Dim: Stage {
    static let order = Order.any
    struct Settings: KindSettings {
      var share = 1.5
      static var settings: [Setting<Self>] {
        [Setting("share", \.share, range: 0...1, "light that is left")]
      }
    }
    var settings = Settings()
    mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
      setup.format
    }
    mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
  }

  private func plugin(_ name: String) -> Plugin { Plugin(name, "darker", Dim.self) }

  @Test func whatIsBuiltInIsDeclaredWell() throws {
    try Kinds(stages: builtinStages, audioStages: builtinAudioStages).requireNoMistakes()
  }

  @Test func namesAreLookedAtWhereAListIsMade() {
    func error(_ names: String...) -> String? {
      #expect(throws: RunError.self) { try Kinds(stages: names.map(plugin), audioStages: []) }?
        .description
    }
    expectEqual(error("dim", "dim"), "two stages are called dim; rename one of them")
    expectEqual(
      error("dim", "a:b"),
      "a stage is called `a:b`, which no option can name; use letters, digits, - and _")
  }

  @Test func aDefaultThatIsNotAllowedIsFoundInAllKindsAndInARun() throws {
    let kinds = try Kinds(stages: builtinStages + [plugin("dim")], audioStages: [])
    let sentence = "the default of the stage dim: share=1.5 is not allowed: give 0 to 1"
    expectEqual(
      #expect(throws: RunError.self) { try kinds.requireNoMistakes() }?.description, sentence)
    let error = #expect(throws: RunError.self) {
      try Engine(
        source: SceneSource(SceneSettings()), stages: [StageChoice(plugin("dim"))], sinks: [],
        options: RunOptions())
    }
    expectEqual(error?.description, sentence)
    let yaml =
      "sources: {scene: {}}\nstages: [{dim: {share: 0.5}}]\noutputs: {none: {kind: 'null'}}\n"
    let run = try Run(Tree(yaml: Array(yaml.utf8)), kinds, in: "/")
    expectEqual(run.errors(kinds).map(\.error.description), [sentence])
  }
}
