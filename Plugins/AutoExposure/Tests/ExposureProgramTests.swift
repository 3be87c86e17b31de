import SprocketCore
import TestExpectations
import Testing

@testable import AutoExposure

@Suite struct ExposureProgramTests {
  private static func program(
    gain: Bool = true, exposure: Bool = true, step: Double = 0, gainStep: Double = 0,
    line: ExposureProgram.Line = .exposure, flicker: ExposureProgram.Flicker = .off,
    longest: Double = 40_000
  ) -> ExposureProgram {
    let port = ControlPort(controls: [
      ControlDescription(
        name: "exposure", unit: "us", minimum: 100, maximum: 1e6, step: step),
      ControlDescription(name: "gain", unit: "", minimum: 1, maximum: 16, step: gainStep),
    ])
    return ExposureProgram(
      exposure: exposure ? SteeredControl(.exposure, on: port) : nil,
      gain: gain ? SteeredControl(.gain, on: port) : nil, line: line, flicker: flicker,
      longest: longest)
  }

  private func point(_ program: ExposureProgram, _ total: Double) -> ExposureProgram.Point {
    program.point(for: ExposureProgram.Point(exposure: total, gain: 1).setting)
  }

  private func isNear(_ point: ExposureProgram.Point, _ exposure: Double, _ gain: Double) -> Bool {
    abs((point.exposure ?? 0) / exposure - 1) < 1e-9 && abs((point.gain ?? 0) / gain - 1) < 1e-9
  }

  @Test func exposureComesBeforeGain() {
    let program = Self.program()
    expectTrue(isNear(point(program, 5_000), 5_000, 1))
    expectTrue(isNear(point(program, 40_000), 40_000, 1))
    expectTrue(isNear(point(program, 100_000), 40_000, 2.5))
    expectTrue(isNear(point(program, 1e9), 40_000, 16))
    expectTrue(isNear(point(program, 1), 100, 1))
    expectLess(abs(program.range.lowerBound - 6.643856), 1e-6)
    expectLess(abs(program.range.upperBound - 19.287712), 1e-6)
  }

  /// 1/60 s is 16,667 us; four times that is where exposure goes on.
  @Test func theBalancedLineKeepsToWhatAHandCanHold() {
    let program = Self.program(line: .balanced)
    expectTrue(isNear(point(program, 10_000), 10_000, 1))
    expectTrue(isNear(point(program, 50_000), 1e6 / 60, 3))
    expectTrue(isNear(point(program, 100_000), 25_000, 4))
    expectTrue(isNear(point(program, 320_000), 40_000, 8))
  }

  @Test(arguments: [(ExposureProgram.Flicker.hertz50, 10_000.0), (.hertz60, 1e6 / 120)])
  func aboveOnePeriodExposuresAreWholePeriodsOfTheFlicker(
    _ flicker: ExposureProgram.Flicker, _ period: Double
  ) {
    let program = Self.program(flicker: flicker)
    expectTrue(isNear(point(program, period * 0.6), period * 0.6, 1))
    expectTrue(isNear(point(program, period * 1.5), period, 1.5))
    expectTrue(isNear(point(program, period * 2.5), period * 2, 1.25))
    // Without gain, the nearest.
    let alone = Self.program(gain: false, flicker: flicker)
    expectEqual(point(alone, period * 2.7).exposure, period * 3)
  }

  @Test func whatComesInStepsIsMadeUpForByTheOther() {
    // Steps of 100 us: 1,050 us are 1,000 us and a gain of 1.05.
    expectTrue(isNear(point(Self.program(step: 100), 1_050), 1_000, 1.05))
    // Gain in whole numbers: 100,000 us are 33,333 us and a gain of 3.
    expectTrue(isNear(point(Self.program(gainStep: 1), 100_000), 100_000.0 / 3, 3))
  }

  @Test func oneControlAloneServes() {
    let gain = Self.program(exposure: false)
    expectEqual(gain.range, 0...4)
    expectNil(gain.point(for: 1.5).exposure)
    expectLess(abs((gain.point(for: 1.5).gain ?? 0) - 2.8284271), 1e-6)
    let exposure = Self.program(gain: false)
    expectEqual(exposure.point(for: 30).exposure, 40_000)
  }
}
