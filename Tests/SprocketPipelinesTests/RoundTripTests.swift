import Sprocket
import SprocketPipelines
import SprocketStages
import TestExpectations
import Testing

/// Texts that settings of some type take, and texts that files could mistake for something else.
private let samples = [
  "auto", "0", "1", "2", "0.5", "-1", "50", "1000", "true", "false", "500ms", "2s", "3m", "640x480",
  "640x", "30000/1001", "29.97", "16:9", "0.25/0.75", "0/0/0.5/0.5", "0/0/64/48", "8M", "64k",
  "512M",
  "10MB", "60s", "no", "007", "1:30", "#3", "- ", "*.mov", "&a", "!b", "{{x}}", "{source}.mov",
  "a, b=c",
  "a: b", "null", "~", "", " ", "x\ny", "\u{85}", "é\u{301}", "😀", "\"q\"", "'q'", "\\", "@x",
  "`x`",
  "%x", "motion.score > 0.2", "0/1", "all", "NV12", "h264", "-2,0,2EV", "exposure=5,20ms",
]

@Suite struct RoundTripTests {
  private static let kinds = try? Kinds(stages: builtinStages, audioStages: builtinAudioStages)

  /// A value with some settings that are not the defaults.
  private func settings(
    _ kind: any NamedKind, _ random: inout some RandomNumberGenerator
  ) -> any KindSettings {
    var settings = kind.settingsType.init()
    for setting in kind.settings where Bool.random(using: &random) {
      let words = setting.choices.isEmpty ? samples : setting.choices
      for _ in 0..<8 {
        let text = words.randomElement(using: &random) ?? ""
        do throws(SettingError) {
          try settings.set(setting.name, to: text)
          break
        } catch {}
      }
    }
    return settings
  }

  private func parts(
    _ role: Kinds.Role, upTo most: Int, _ kinds: Kinds,
    _ random: inout some RandomNumberGenerator
  ) -> [Part] {
    let known = kinds[role].shuffled(using: &random).prefix(
      Int.random(in: 0...most, using: &random))
    return known.map { kind in
      let id = Bool.random(using: &random) ? kind.name : "a-\(kind.name)"
      return Part(
        kind.name, id: role == .output ? id : nil, settings(kind, &random))
    }
  }

  private func run(_ kinds: Kinds, _ random: inout some RandomNumberGenerator) -> Run {
    let labels = ["front", "back", "scene", "1"].prefix(Int.random(in: 1...3, using: &random))
    var run = Run()
    run.sources = labels.map { label in
      var pipeline = Pipeline()
      let kind = kinds.sources.randomElement(using: &random) ?? SceneSource.kind
      pipeline.source = Part(kind.name, settings(kind, &random))
      if Bool.random(using: &random) { pipeline.format.size = FrameSize(640, 480) }
      if Bool.random(using: &random) {
        pipeline.format.rate = FrameRate(frames: 30000, seconds: 1001)
      }
      if Bool.random(using: &random) {
        pipeline.controls = [ControlWish("gain", "2"), ControlWish("menu", "no")]
      }
      pipeline.stages = parts(.stage, upTo: 3, kinds, &random)
      pipeline.outputs = parts(.output, upTo: 4, kinds, &random)
      pipeline.sound.microphones = parts(.microphone, upTo: 2, kinds, &random)
      pipeline.sound.stages = parts(.audioStage, upTo: 1, kinds, &random)
      if Bool.random(using: &random) { pipeline.sound.files.rate = 48_000 }
      return Run.Source(label, pipeline)
    }
    if run.sources.count == 1 { run.sources[0].label = run.sources[0].pipeline.source?.kind ?? "" }
    run.settings.frames = Bool.random(using: &random) ? 7 : nil
    run.settings.duration = Bool.random(using: &random) ? .milliseconds(1500) : nil
    run.settings.summary = Bool.random(using: &random) ? "s{{1}}.json" : OutputName()
    return run
  }

  /// What was written reads back as the same value, as YAML and as JSON.
  @Test(arguments: 0..<40) func aRunIsReadAsItWasWritten(seed: Int) throws {
    let kinds = try #require(Self.kinds)
    var random = SeededGenerator(seed: UInt64(seed))
    for _ in 0..<10 {
      let run = run(kinds, &random)
      let tree = Tree(run)
      let yaml = try Tree(yaml: Array(tree.yaml.utf8))
      let json = try Tree(json: Array(tree.json.utf8))
      expectTrue(json == tree, "\(tree.json)")
      let read = [yaml, json].map { tree in
        do throws(DescriptionErrors) { return (try Run(tree, kinds, in: "."), "") } catch {
          return (Run(), error.errors.map(\.description).joined(separator: "\n"))
        }
      }
      var moved = run
      moved.moveFiles(to: ".")
      for (read, errors) in read {
        expectTrue(read == moved, "\(errors)\n\(tree.yaml)\n\(Tree(read).yaml)")
      }
    }
  }

  /// A name with any characters comes through its own spelling.
  @Test func namesAreReadAsTheyAreSpelled() throws {
    var random = SeededGenerator(seed: 5)
    let letters = Array("{}{}ab.:,= \n-#é")
    for _ in 0..<2000 {
      let path = String(
        (0..<Int.random(in: 0...12, using: &random)).map { _ in
          letters.randomElement(using: &random) ?? "a"
        })
      let name = OutputName(literal: path)
      expectEqual(OutputName(settingText: name.settingText), name)
      expectEqual(name.path, path)
      expectEmpty(name.places)
    }
    let pattern = try #require(OutputName(settingText: "{{a}}/{source}-{n}.mov"))
    expectEqual(pattern.places, ["source", "n"])
    expectEqual(pattern.filled("source", with: "{x}").settingText, "{{a}}/{{x}}-{n}.mov")
    for wrong in ["{", "}", "a{", "{}", "{a", "{a b}", "{1}"] {
      expectNil(OutputName(settingText: wrong))
    }
  }
}

/// SplitMix64: the same numbers in each run of the tests.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
