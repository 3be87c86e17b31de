import SprocketCore
import TestExpectations
import Testing

@Suite struct PointTests {
  @Test func isSpelledAsTwoFractions() throws {
    let point = try #require(Point(settingText: "0.4/0.6"))
    expectEqual(point, Point(x: 0.4, y: 0.6))
    expectEqual(point.settingText, "0.4/0.6")
    expectEqual(Point(settingText: Point.center.settingText), .center)
    expectEqual(Point(settingText: "0/1"), Point(x: 0, y: 1))
  }

  @Test(arguments: ["", "0.5", "0.5/", "0.5/0.5/0.5", "-0.1/0.5", "0.5/1.1", "nan/0.5", "a/b"])
  func liesInThePicture(_ text: String) {
    expectNil(Point(settingText: text))
  }
}
