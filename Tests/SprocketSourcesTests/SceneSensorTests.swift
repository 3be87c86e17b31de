import Foundation
import TestExpectations
import Testing

@testable import SprocketScene

@Suite struct SceneSensorTests {
  /// IEC 61966-2-1: 0.5 linear is 187.5 of 255; 0.001 lies on the straight part.
  @Test func theCurveIsTheStandards() {
    expectLess(abs(SceneTransfer.srgb.encode(0.5) * 255 - 187.516), 0.001)
    expectLess(abs(SceneTransfer.srgb.encode(0.001) - 0.01292), 1e-9)
    expectLess(abs(SceneTransfer.gamma(2.2).encode(0.25) - 0.53252), 1e-5)
    for transfer in [SceneTransfer.srgb, .gamma(1.8), .gamma(2.6)] {
      for level in [0.0, 0.01, 0.2, 0.7, 1] {
        expectLess(abs(transfer.encode(transfer.decode(level)) - level), 1e-6)
      }
    }
  }

  @Test(arguments: [SceneTransfer.srgb, .gamma(1.8), .gamma(2.6)])
  func twiceTheExposureIsTwiceTheSignal(_ transfer: SceneTransfer) {
    let sensor = quietSensor { $0.transfer = transfer }
    var renderer = SceneRenderer(width: 128, height: 96, seed: 7, sensor: sensor)
    let once = renderer.picture(moment { $0.exposureMicroseconds = 2_500 })
    let twice = renderer.picture(moment { $0.exposureMicroseconds = 5_000 })
    let gained = renderer.picture(
      moment {
        $0.exposureMicroseconds = 2_500
        $0.gain = 2
      })
    var compared = 0
    for (before, after) in zip(once.luma, twice.luma) where before > 60 && after < 250 {
      let ratio = transfer.decode(after / 255) / transfer.decode(before / 255)
      // Rounding to levels of half a unit each way.
      expectLess(abs(ratio - 2), 0.09, "\(before) became \(after)")
      compared += 1
    }
    expectGreater(compared, 1000)
    expectEqual(gained.luma, twice.luma)
  }

  @Test func whatIsTooBrightClips() {
    var renderer = SceneRenderer(width: 64, height: 48, seed: 7, sensor: quietSensor())
    let picture = renderer.picture(moment { $0.exposureMicroseconds = 1_000_000 })
    expectGreater(picture.luma.filter { $0 == 255 }.count, 64 * 48 * 3 / 4)
    let black = renderer.picture(moment { $0.exposureMicroseconds = 10 })
    expectTrue(black.luma.allSatisfy { $0 < 8 })
  }

  /// The deviation over many frames is the model's, pushed through the curve's slope.
  @Test func noiseIsShotAndReadNoise() {
    let sensor = SceneSensor()
    var renderer = SceneRenderer(width: 64, height: 48, seed: 8, sensor: sensor)
    var quiet = SceneRenderer(width: 64, height: 48, seed: 8, sensor: quietSensor())
    let gain = 8.0
    let at = moment {
      $0.gain = gain
      $0.exposureMicroseconds = 1_250
    }
    let expected = quiet.picture(at)
    let frames = (0..<60).map { frame in
      var now = at
      now.frame = UInt64(frame)
      return renderer.picture(now)
    }
    var measured = 0.0
    var predicted = 0.0
    for index in expected.luma.indices where (80...200).contains(expected.luma[index]) {
      let values = frames.map { $0.luma[index] }
      let mean = values.reduce(0, +) / 60
      measured += values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / 59
      let signal = sensor.transfer.decode(expected.luma[index] / 255)
      let electrons = signal / gain * sensor.fullWellElectrons
      let deviation =
        (electrons + sensor.readNoiseElectrons * sensor.readNoiseElectrons).squareRoot()
        * gain / sensor.fullWellElectrons
      let slope =
        (sensor.transfer.encode(signal + 1e-5) - sensor.transfer.encode(signal - 1e-5)) / 2e-5
      predicted += pow(deviation * slope * 255, 2) + 1.0 / 12
    }
    expectLess(abs(measured / predicted - 1), 0.05, "\(measured / predicted)")
  }

  @Test func noiseDoesNotRepeatFromRowToRowOrFrameToFrame() {
    var starts: Set<Int> = []
    for frame in 0..<20 as Range<UInt64> {
      for row in 0..<20 {
        starts.insert(SceneNoiseTile.start(seed: 1, frame: frame, plane: 0, row: row))
      }
    }
    expectGreater(starts.count, 390)
  }

  @Test func lightIsExposure() {
    var dim = SceneRenderer(
      width: 64, height: 48, seed: 7, sensor: quietSensor { $0.light = -1 })
    var usual = SceneRenderer(width: 64, height: 48, seed: 7, sensor: quietSensor())
    expectEqual(
      dim.bytes(moment { $0.exposureMicroseconds = 10_000 }),
      usual.bytes(moment { $0.exposureMicroseconds = 5_000 }))
  }
}
