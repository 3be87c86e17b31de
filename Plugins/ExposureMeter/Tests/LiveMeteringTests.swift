import SprocketTesting
import TestExpectations
import Testing

@testable import ExposureMeter

/// A live change gives what a meter gives that had the settings from the start.
@Test(arguments: MeteringMode.allCases, MeteringMode.allCases)
func aChangedMeterMeasuresAsOneThatWasMadeSo(_ first: MeteringMode, _ second: MeteringMode) throws {
  let (width, height) = (97, 64)
  let frame = TestFrame(
    width: width, height: height, luma: TestPattern.random.bytes(width * height, seed: 3))
  var before = ExposureMeter()
  (before.settings.mode, before.settings.point) = (first, Point(x: 0.1, y: 0.9))
  var after = ExposureMeter()
  (after.settings.mode, after.settings.point) = (second, Point(x: 0.8, y: 0.2))
  (after.settings.target, after.settings.highlightTarget) = (0.3, 0.5)
  var changed = try StageUnderTest(before, for: frame)
  var made = try StageUnderTest(after, for: frame)
  // The first call allocates in Swift's run-time library.
  _ = changed.change { _ in }
  _ = changed.report(on: frame)
  let allocations = changed.change { $0 = after.settings }
  expectEqual(allocations, 0)
  let (found, expected) = (changed.report(on: frame), made.report(on: frame))
  expectEqual(found.logLuminance, expected.logLuminance)
  expectEqual(found.offset, expected.offset)
}
