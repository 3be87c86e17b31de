import TestExpectations
import Testing

@testable import SprocketScene

/// A class, because expectations may not change values.
private final class Drive {
  private var drive: SceneLensDrive

  init(speed: Double = 0, backlash: Double = 0) {
    drive = SceneLensDrive(position: 0.5, speed: speed, backlash: backlash)
  }

  func move(to target: Double, for seconds: Double) -> Double {
    drive.target = target
    drive.advance(by: seconds)
    return drive.position
  }
}

@Suite struct SceneLensDriveTests {
  private func isNear(_ one: Double, _ other: Double) -> Bool { abs(one - other) < 1e-12 }

  @Test func withoutSpeedOrBacklashItIsThereAtOnce() {
    let drive = Drive()
    expectEqual(drive.move(to: 0.9, for: 1e-9), 0.9)
    expectEqual(drive.move(to: 0.1, for: 0), 0.1)
  }

  @Test func itTravelsAtItsSpeedAndStops() {
    let drive = Drive(speed: 0.5)
    expectTrue(isNear(drive.move(to: 0.8, for: 0.2), 0.6))
    expectTrue(isNear(drive.move(to: 0.8, for: 0.2), 0.7))
    expectTrue(isNear(drive.move(to: 0.8, for: 10), 0.8))
    expectTrue(isNear(drive.move(to: 0, for: 0.4), 0.6))
  }

  /// The play is 0.04, half of it on each side at the start: the lens stays until the drive has taken
  /// it up, and at a reversal until all of it is.
  @Test func backlashIsTakenUpBeforeTheLensMoves() {
    let drive = Drive(backlash: 0.04)
    expectEqual(drive.move(to: 0.51, for: 1), 0.5)
    expectTrue(isNear(drive.move(to: 0.6, for: 1), 0.58))
    expectTrue(isNear(drive.move(to: 0.57, for: 1), 0.58))
    expectTrue(isNear(drive.move(to: 0.56, for: 1), 0.58))
    expectTrue(isNear(drive.move(to: 0.5, for: 1), 0.52))
  }
}
