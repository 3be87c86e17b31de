import Sprocket
import SprocketStages
import SprocketTesting
import TestExpectations
import Testing

@Suite struct GeometryChainTests {
  /// The matrices of the chain's stages, one by one, first to last.
  @Test func aChainsMapIsThatOfItsStages() throws {
    var settings = SceneSettings()
    (settings.width, settings.height, settings.pace) = (320, 240, .fast)
    (settings.shake, settings.format) = (5, .i420)
    let run = try TestRun(
      of: try SceneSource(settings),
      through: [
        .crop { $0.pixels = PixelArea(x: 20, y: 10, width: 280, height: 210) }, .negate(),
        .stabilize { $0.mode = .standard }, .resize { $0.size = TargetSize(width: 140) },
        .rotate { $0.turn = .quarter },
      ], frames: 8)
    var shifts: Set<Double> = []
    for frame in run.frames {
      let steady = try #require(frame.report(StabilizeReport.self))
      let back = try #require(Projection(steady.stabilizedFromSensor).inverse)
      let picture = try #require(frame.picture)
      #expect((picture.format.width, picture.format.height) == (105, 140))
      for (x, y) in [(0.0, 0.0), (104, 0), (31.5, 99.25)] {
        // Clockwise by 90 degrees: the new column is the old row from below.
        let (u, v) = (y, 104 - x)
        let steadied = back.apply((u + 0.5) * 2 - 0.5, (v + 0.5) * 2 - 0.5)
        let point = picture.sensorMap.sensorPoint(x, y, through: picture.format.lens)
        expectLess(abs(point.x - steadied.x - 20), 1e-9)
        expectLess(abs(point.y - steadied.y - 10), 1e-9)
        shifts.insert(point.x)
      }
    }
    // Else nothing was stabilized.
    expectEqual(run.frames.count, 8)
    expectGreater(shifts.count, 3 * 4)
  }

  @Test func aStageThatMovesNoPixelsLeavesTheMapAsItIs() throws {
    let frame = TestFrame(.i420, width: 32, height: 32, .random)
    let run = try TestRun(
      of: TestCamera([frame]),
      through: [.crop { $0.pixels = PixelArea(x: 8, y: 6, width: 8, height: 8) }, .negate()])
    let picture = try #require(run.frames.first?.picture)
    let point = picture.sensorMap.sensorPoint(1, 1, through: nil)
    expectEqual(point.x, 9)
    expectEqual(point.y, 7)
  }

  /// What a sink of a program keeps.
  @Test func aCopyCarriesPointsBackInOneCall() async throws {
    let frame = TestFrame(.i420, width: 32, height: 32, .random)
    let copies = FrameCopies(keeping: .every(1))
    let engine = try Engine(
      source: TestCamera([frame]),
      stages: [.crop { $0.pixels = PixelArea(x: 8, y: 6, width: 8, height: 8) }], sinks: [copies])
    try engine.start()
    var count = 0
    for await copy in copies {
      let point = copy.sensorPoint(1, 1)
      expectEqual(point.x, 9)
      expectEqual(point.y, 7)
      count += 1
    }
    expectTrue(engine.wait(for: longestWait))
    expectEqual(count, 1)
  }
}
