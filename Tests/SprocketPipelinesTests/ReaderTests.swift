import Sprocket
import SprocketPipelines
import SprocketStages
import TestExpectations
import Testing

@Suite struct ReaderTests {
  private static let kinds = try? Kinds(stages: builtinStages, audioStages: builtinAudioStages)

  private func errors(_ yaml: String) throws -> [String] {
    let kinds = try #require(Self.kinds)
    do throws(TreeError) {
      let tree = try Tree(yaml: Array(yaml.utf8))
      do throws(DescriptionErrors) { _ = try Run(tree, kinds, in: "/") } catch {
        return error.errors.map(\.description)
      }
      return []
    } catch {
      return [error.description]
    }
  }

  private func run(_ yaml: String) throws -> Run {
    try Run(Tree(yaml: Array(yaml.utf8)), #require(Self.kinds), in: "/shop")
  }

  @Test func whatStandsForAllSourcesIsOfEachThatHasNoneOfItsOwn() throws {
    let run = try run(
      """
      sources:
        door: {camera: Front, size: 1280x720, control: [{exposure: 100}, {gain: 2}]}
        scene: {seed: 7, stages: [focus]}
      stages: [motion, {resize: {size: 640x}}]
      outputs:
        movie: {path: "{source}.mov", record-when: motion.score > 0.2}
        second: {kind: movie, path: /b.mov}
      duration: 10s
      """)
    expectEqual(run.sources.map(\.label), ["door", "scene"])
    let (door, scene) = (run.sources[0].pipeline, run.sources[1].pipeline)
    expectEqual(door.source?[CameraSettings.self]?.name, "Front")
    expectEqual(door.format.size, FrameSize(1280, 720))
    expectEqual(door.controls, [ControlWish("exposure", "100"), ControlWish("gain", "2")])
    expectEqual(door.stages.map(\.kind), ["motion", "resize"])
    expectEqual(scene.stages.map(\.kind), ["focus"])
    expectEqual(scene.source?[SceneSettings.self]?.seed, 7)
    expectEqual(door.outputs.map(\.id), ["movie", "second"])
    expectEqual(door.outputs["movie"]?[MovieSettings.self]?.path.settingText, "/shop/{source}.mov")
    expectEqual(door.outputs["second"]?[MovieSettings.self]?.path.path, "/b.mov")
    expectEqual(run.settings.duration, .seconds(10))
    expectEqual(
      run.resolved.sources[0].pipeline.outputs["movie"]?.settings.files[0].path, "/shop/door.mov")
  }

  @Test(arguments: [
    ("source: scene\nframes: 007", "7"), ("source: scene\nduration: 1:30", nil),
    ("source: {kind: scene, genlock: no}\nframes: 2", "2"),
    ("source: scene\nframes: \"3\"", nil), ("source: scene\nframes:", "auto"),
    ("source: scene\nframes: ~", "auto"), ("source: scene\nframes: 0x10", nil),
  ]) func aScalarIsWhatItsSettingReads(_ yaml: String, _ frames: String?) throws {
    guard let frames else { return expectEqual(try errors(yaml).count, 1, "\(yaml)") }
    expectEqual(try run(yaml).settings.text(of: "frames"), frames)
  }

  /// Each is refused with its line, and says what to do.
  @Test(arguments: [
    ("outputs:\n  movie: *.mov", "line 2", "into quotes"),
    ("outputs:\n  movie: *take", "line 2", "quotes"),
    ("outputs:\n  movie: {source}.mov", "line 2", "into quotes"),
    ("outputs:\n  movie: take #3.mov", "line 2", "into quotes"),
    ("outputs:\n  movie: a: b.mov", "line 2", "into quotes"),
    ("outputs:\n  movie: @a.mov", "line 2", "into quotes"),
    ("outputs:\n\tmovie: a.mov", "line 2", "into quotes"),
    ("a: &x 1\nb: *x", "line 1", "anchors are not taken"),
    ("frames: !!int 3", "line 1", "tags are not taken"),
    ("frames: 1\nframes: 2", "line 2", "given twice, first in line 1"),
    ("frames: 1\n---\nframes: 2", "line 2", "a second document"),
    ("stages: [focus, motin]", "line 1", "did you mean `motion`?"),
    ("stages:\n- focus: {window: 3}", "line 2", "0.01 to 1"),
    ("outputs:\n  movie: {path: a.mov, crff: 3}", "line 2", "did you mean `crf`?"),
    ("outputs:\n  movie: {path: \"a{sorce}.mov\"}", "line 2", "{source}, {n}"),
    ("frams: 3", "line 1", "did you mean `frames`?"),
    ("source: {camera: A, scene: B}", "line 1", "both kinds"),
    ("source: {size: 1x1, zz: 1}", "line 1", "name what kind"),
    ("source: scene\nsources: {a: scene}", "", "both there"),
    ("sources: {\"a b\": scene}", "line 1", "is no label"),
    ("version: 2", "line 1", "version 1"),
    ("source: {kind: scene, seed: \"1\"}", "line 1", "leave out the quotes"),
    ("outputs: [movie]", "line 1", "map"),
    ("frames: [1]", "line 1", "one value"),
    ("? [a]\n: 1", "line 1", "a key is a text"),
    ("source:\n  camera: A\n  scene:\n    seed: 1", "", "both kinds"),
    ("stages:\n- resize: {size: 640x}\n  hold: true", "line 3", "write it there"),
  ]) func whatIsWrongIsSaid(_ yaml: String, _ place: String, _ words: String) throws {
    let errors = try errors(yaml)
    expectEqual(errors.count, 1, "\(yaml): \(errors)")
    expectTrue(errors.first?.contains(words) == true, "\(errors)")
    expectTrue(errors.first?.contains(place) == true, "\(errors)")
  }

  @Test func allErrorsAreToldAtOnce() throws {
    let errors = try errors("frams: 1\nstages: [motin]\nsource: {kind: scene, seed: x}\n")
    expectEqual(errors.count, 3, "\(errors)")
  }

  @Test func whatIsTooLargeIsRefused() throws {
    let deep = String(repeating: "[", count: 10_000)
    expectEqual(try errors("stages: \(deep)").count, 1)
    #expect(throws: TreeError.self) { try Tree(json: Array(deep.utf8)) }
    let long = [UInt8](repeating: UInt8(ascii: " "), count: (1 << 20) + 1)
    #expect(throws: TreeError.self) { try Tree(json: long) }
    #expect(throws: TreeError.self) { try Tree(yaml: long) }
    let many = "[" + Array(repeating: "1", count: 20_001).joined(separator: ",") + "]"
    #expect(throws: TreeError.self) { try Tree(json: Array(many.utf8)) }
    #expect(throws: TreeError.self) { try Tree(yaml: Array(many.utf8)) }
  }

  @Test(arguments: [
    #"{"a": "\ud83d\ude00\u00e9\n\/"}"#, "[1, -0.5e+3, true, null, {}, []]", "\"x\"", " 0 ",
  ]) func jsonIsRead(_ text: String) throws {
    let tree = try Tree(json: Array(text.utf8))
    expectTrue(try Tree(json: Array(tree.json.utf8)) == tree)
  }

  @Test(arguments: [
    "", "{", "[1,]", "{\"a\":1,}", "{a:1}", "{\"a\":1,\"a\":2}", "01", "+1", "1.", ".5", "nul",
    "'a'",
    "\"a", "\"\\x\"", "\"\\ud83d\"", "\"\\udc00\"", "\"\u{1}\"", "1 2", "[1 2]", "{\"a\" 1}", "NaN",
    "\\",
  ]) func whatIsNoJSONIsRefused(_ text: String) {
    #expect(throws: TreeError.self) { try Tree(json: Array(text.utf8)) }
  }

  @Test func bytesThatAreNoTextAreRefused() {
    #expect(throws: TreeError.self) { try Tree(json: [0x22, 0xFF, 0x22]) }
    #expect(throws: TreeError.self) { try Tree(yaml: [0x61, 0x3A, 0x20, 0xFF]) }
  }
}
