import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSources

@Suite struct DelayFileTests {
  private let identity = DeviceIdentity(
    name: "usb:046d:0825:AB12#0", place: "usb:046d:0825@0000:00:14.0-1#0", unit: nil, position: nil)

  @Test func whatIsMeasuredIsKeptByDeviceAndControl() throws {
    let scratch = try Scratch()
    let file = try #require(DelayFile(of: identity, state: scratch.path("state")))
    expectEmpty(file.read())
    try file.add(["gain": 1, "exposure_time_absolute": 3])
    try file.add(["gain": 2])
    expectEqual(file.read(), ["gain": 2, "exposure_time_absolute": 3])
    let name = "state/sprocket/delays/usb:046d:0825:AB12#0"
    try expectEqual(scratch.text(name), "sprocket delays 1\nexposure_time_absolute 3\ngain 2\n")
  }

  @Test(arguments: [
    "", "gain 1\n", "sprocket delays 1\ngain", "sprocket delays 1\ngain x\n",
    "sprocket delays 1\ngain -1\n", "sprocket delays 1\ngain 61\n", "sprocket delays 1\n 1\n",
    "sprocket delays 1\ngain 1 2\n", "sprocket delays 2\ngain 1\n", "sprocket delays 1\n\ngain 1\n",
  ])
  func aDamagedFileIsIgnored(_ text: String) {
    expectEmpty(DelayFile.parsed(text))
  }

  @Test func aFileThatIsTooLongIsIgnoredAndReplaced() throws {
    let scratch = try Scratch()
    let file = try #require(DelayFile(of: identity, state: scratch.path("state")))
    let many = Dictionary(uniqueKeysWithValues: (0..<1000).map { ("control_\($0)", 1) })
    try file.add(many)
    expectEmpty(file.read())
    try file.add(["gain": 4])
    expectEqual(file.read(), ["gain": 4])
  }

  @Test func aDelayCanBeGiven() throws {
    expectEqual(PictureDelay(settingText: "auto"), .measured)
    expectEqual(PictureDelay(settingText: "3"), .frames(3))
    expectNil(PictureDelay(settingText: "-1"))
    expectNil(PictureDelay(settingText: "61"))
    expectEqual(PictureDelay.frames(3).settingText, "3")
  }
}
