import Brightest
import SprocketTesting
import Testing

/// A dark 64x32 picture with a bright square of 4x4 pixels at the given place.
private func picture(_ square: (x: Int, y: Int)? = nil) -> TestFrame {
  let luma = (0..<64 * 32).map { index -> UInt8 in
    guard let square else { return 10 }
    let (x, y) = (index % 64 - square.x, index / 64 - square.y)
    return (0..<4).contains(x) && (0..<4).contains(y) ? 200 : 10
  }
  return TestFrame(width: 64, height: 32, luma: luma)
}

private let brightest = StageChoice(Brightest.plugin)

@Test func findsWhereItBecameBrighter() throws {
  let camera = TestCamera([
    picture(), picture((12, 8)), picture((12, 8)), picture(), picture((60, 28)),
  ])
  let found = try TestRun(of: camera, through: [brightest]).reports(Brightest.Report.self)
  #expect(found.map(\.rise) == [0, 190, 0, 0, 190])
  // The middle of the square, in fractions.
  #expect(found[1].x == 14.0 / 64 && found[1].y == 10.0 / 32)
  #expect(found[4].x == 62.0 / 64 && found[4].y == 30.0 / 32)
}

@Test func aSmallRiseIsNone() throws {
  let patient = StageChoice(Brightest.plugin, of: Brightest.self) { $0.least = 191 }
  let camera = TestCamera([picture(), picture((0, 0))])
  #expect(
    try TestRun(of: camera, through: [patient]).reports(Brightest.Report.self).map(\.rise) == [
      0, 0,
    ])
}

/// A frame that follows a damaged one has no earlier frame to compare with.
@Test func aDamagedFrameIsNotComparedWith() throws {
  let camera = TestCamera([.picture(picture()), .damaged, .picture(picture((12, 8)))])
  let run = try TestRun(of: camera, through: [brightest])
  #expect(run.frames.map(\.fate) == [.delivered, .corrupt, .delivered])
  #expect(run.reports(Brightest.Report.self).map(\.rise) == [0, 0])
}

@Test func workersDoNotChangeIt() throws {
  let pictures = (0..<24).map { picture(($0 * 5 % 60, $0 % 28)) }
  #expect(try TestRun.firstDifference(through: [brightest]) { TestCamera(pictures) } == nil)
}

@Test func allocatesNothing() throws {
  var stage = try StageUnderTest(Brightest(), for: picture())
  _ = stage.process(picture())
  #expect(stage.process(picture((12, 8)), earlier: [picture()]).allocations == 0)
}
