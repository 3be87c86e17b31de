import SprocketTesting
import TestExpectations
import TestSupport
import Testing

@testable import Stabilizer

/// From its frame on the zoom is that of the new crop, whatever the look-ahead and the number of workers, and
/// no border shows.
@Test(arguments: [Stabilizer.Mode.standard, .cinematic], [1, 4])
func aLiveCropZoomsFromItsFrameOn(_ mode: Stabilizer.Mode, _ workers: Int) throws {
  let scene = NoiseScene(seed: 4)
  var random = TestRandom(seed: 9)
  let pictures = (0..<40).map { _ in
    let x = Double.random(in: -6...6, using: &random)
    let y = Double.random(in: -4...4, using: &random)
    let luma = (0..<128 * 96).map { index -> UInt8 in
      let level = scene.level(Double(index % 128) + x, Double(index / 128) + y)
      return UInt8(min(max(level, 0), 255))
    }
    return TestFrame(width: 128, height: 96, luma: luma)
  }
  let run = try TestRun(
    of: TestCamera(pictures), through: [.stabilize { ($0.mode, $0.lookahead) = (mode, 5) }],
    changing: [
      TestRun.Change(at: 10, "stabilize", of: Stabilizer.Settings.self) { $0.crop = 0.2 },
      TestRun.Change(at: 25, "stabilize", of: Stabilizer.Settings.self) { $0.crop = 0.01 },
    ], workers: workers, pictures: false)
  expectEqual(run.frames.count, 40)
  for frame in run.frames {
    let report = try #require(frame.report(StabilizeReport.self))
    let crop = frame.number < 10 ? 0.05 : frame.number < 25 ? 0.2 : 0.01
    let found = report.similarity(width: 128, height: 96)
    let zoom = found.scale * (1 - 2 * crop)
    expectLess(abs(zoom - 1), 1e-6, "frame \(frame.number)")
    for (x, y) in [(-63.5, -47.5), (63.5, -47.5), (-63.5, 47.5), (63.5, 47.5)] {
      let sensor = found.inverse.apply(x, y)
      let isInside = abs(sensor.x) < 63.5 + 1e-6 && abs(sensor.y) < 47.5 + 1e-6
      expectTrue(isInside, "frame \(frame.number)")
    }
  }
}

/// Without a planner (`mode=off`), and with one, a change allocates nothing.
@Test func aLiveCropAllocatesNothing() throws {
  let picture = TestFrame(width: 128, height: 96, luma: [UInt8](repeating: 9, count: 128 * 96))
  var off = PathStage()
  off.settings.mode = .off
  var stage = try StageUnderTest(off, for: picture)
  _ = stage.change { _ in }
  expectEqual(stage.change { $0.crop = 0.2 }, 0)
}
