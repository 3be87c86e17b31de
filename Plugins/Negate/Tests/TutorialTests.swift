import Foundation
import SprocketTesting
import TestExpectations
import Testing

@Test func solarizeNegatesAndCountsWhatIsBright() throws {
  let frame = TestFrame(width: 4, height: 1, luma: [0, 128, 129, 255])
  var stage = try StageUnderTest(Solarize(), for: frame)
  let shown = stage.process(frame)
  // 0.5 * 255 rounds to 128: the last two are above it.
  expectEqual(shown.report?.changed, 0.5)
  expectEqual(shown.picture?.planes, [[0, 128, 126, 0]])
}

@Test func solarizeTakesItsThresholdFromTheUser() throws {
  let choice = try StageChoice(Solarize.plugin, ["threshold": "1"])
  let made = try #require(choice.plugin.stages[0].make(choice.settings) as? Solarize)
  let frame = TestFrame(width: 2, height: 1, luma: [0, 255])
  var stage = try StageUnderTest(made, for: frame)
  expectEqual(stage.process(frame).report?.changed, 0)
  #expect(throws: RunError.self) { try StageChoice(Solarize.plugin, ["threshold": "1.5"]) }
}

/// It says nothing of them: then they are refused, with the formats that it can take.
@Test func solarizeIsRefusedSamplesInWords() throws {
  let frame = TestFrame(.y16, width: 1, height: 1, planes: [[0, 0]])
  let error = #expect(throws: StageError.self) { try StageUnderTest(Solarize(), for: frame) }
  let text = try #require(error?.description)
  expectTrue(text.hasPrefix("takes samples of 8 bits, and those of Y16 lie in words of 16; choose"))
  expectTrue(text.contains("another format (MJPG, YUYV,"))
  expectFalse(text.contains("Y10"))
}

/// What the tutorial shows is what is compiled and tested.
@Test(arguments: ["Negate.swift", "Tests/Solarize.swift"])
func theTutorialShowsTheFile(_ name: String) throws {
  let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent()
  let tutorial = try String(contentsOf: folder.appendingPathComponent("README.md"), encoding: .utf8)
  let file = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
  expectTrue(tutorial.contains("```swift\n" + file + "```\n"), "copy \(name) into README.md")
}
