import SprocketTesting
import TestExpectations
import Testing

@testable import FocusScore

/// A live change gives what a score gives that had the settings from the start.
@Test(arguments: FocusScore.Measure.allCases, [0.2, 0.5, 1])
func aChangedScoreMeasuresAsOneThatWasMadeSo(_ measure: FocusScore.Measure, _ window: Double) throws
{
  let (width, height) = (97, 64)
  let frame = TestFrame(
    width: width, height: height, luma: TestPattern.random.bytes(width * height, seed: 3))
  var before = FocusScore()
  (before.settings.window, before.settings.point) = (0.4, Point(x: 0.9, y: 0.9))
  var after = FocusScore()
  (after.settings.measure, after.settings.window, after.settings.point) = (
    measure, window, Point(x: 0.3, y: 0.2)
  )
  var changed = try StageUnderTest(before, for: frame)
  var made = try StageUnderTest(after, for: frame)
  _ = changed.change { _ in }
  _ = changed.report(on: frame)
  let allocations = changed.change { $0 = after.settings }
  expectEqual(allocations, 0)
  let (found, expected) = (changed.report(on: frame), made.report(on: frame))
  expectEqual(found.score, expected.score)
  expectEqual(found.contrast, expected.contrast)
  for cell in 0..<16 { expectEqual(found.grid[cell], expected.grid[cell]) }
}
