import Foundation
import Gain
import SprocketCore
import SprocketTesting
import TestExpectations
import Testing

@Suite struct GainTests {
  @Test(arguments: [(0.0, Float(1)), (20, 10), (-20, 0.1), (6.0206, 2)])
  func decibelsAreAFactor(db: Double, factor: Float) throws {
    var stage = Gain()
    stage.settings.db = db
    try stage.configure(AudioStageSetup(rate: 48_000, channels: 2, blockSamples: 4, isLive: false))
    var numbers: [Float] = [0, 0.25, -0.5, 1, -1, 1e-6, 0.125, -0.001]
    let before = numbers
    var span = numbers.mutableSpan
    stage.process(&span, AudioRecord(line: AudioLine(rate: 48_000)))
    for (number, old) in zip(numbers, before) {
      expectAtMost(abs(number - old * factor), 1e-5 * abs(old * factor))
    }
  }

  @Test func itsReadmeHasAllOfIt() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent()
    func text(_ name: String) throws -> String {
      try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }
    try expectTrue(text("README.md").contains("```swift\n\(try text("Gain.swift"))```\n"))
  }
}
