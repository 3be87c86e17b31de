import SprocketCore
import TestExpectations
import Testing

@testable import Bracket

@Suite struct BracketStepsTests {
  @Test func stepsAreReadAsAPersonWritesThem() {
    expectEqual(BracketSteps(settingText: "-2,0,2EV"), BracketSteps(.ev, [-2, 0, 2]))
    expectEqual(BracketSteps(settingText: "-0.5/0.5ev"), BracketSteps(.ev, [-0.5, 0.5]))
    expectEqual(BracketSteps(settingText: "-1EV,+1EV"), BracketSteps(.ev, [-1, 1]))
    expectEqual(
      BracketSteps(settingText: "exposure=5,20ms"), BracketSteps(.exposure, [5000, 20_000]))
    expectEqual(
      BracketSteps(settingText: "exposure=500us,1ms"), BracketSteps(.exposure, [500, 1000]))
    expectEqual(BracketSteps(settingText: "gain=1,2.5"), BracketSteps(.gain, [1, 2.5]))
    expectEqual(BracketSteps(settingText: "lens=0,1"), BracketSteps(.lens, [0, 1]))
    expectEqual(
      BracketSteps(settingText: "brightness=10"), BracketSteps(.control("brightness"), [10]))
  }

  @Test func theirTextIsReadAgain() {
    for text in ["-2,0,2EV", "exposure=5,20ms", "gain=1,2.5", "lens=0,1", "brightness=-5,10"] {
      let steps = BracketSteps(settingText: text)
      expectNotNil(steps)
      expectEqual(steps.flatMap { BracketSteps(settingText: $0.settingText) }, steps)
    }
  }

  @Test(arguments: [
    "", "EV", "-2,0,2", "1,,2EV", "nanEV", "infEV", "21EV", "exposure=0us",
    "exposure=5,20", "exposure=", "=1",
    "gain=-1",
    "lens=2", "lens=0.5EV", "gain=1us", "1 2EV",
  ])
  func whatIsNoListOfStepsIsRefused(_ text: String) {
    expectNil(BracketSteps(settingText: text))
  }
}
