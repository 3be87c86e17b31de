import Glibc
import SprocketTesting
import TestExpectations
import TestSupport
import Testing

@testable import AutoExposure

/// Stands for `meter`: what a simulated sensor shows at the exposure and gain in force, in light that halves
/// at frame 100.
private struct SimulatedMeter: Stage {
  typealias Report = ExposureReport
  static let order = Order.sequence
  static let plugin = Plugin("meter", "what a sensor shows", SimulatedMeter.self)
  private var writer: ReportWriter<ExposureReport>?
  private var sensor = SimulatedSensor(.srgb, .srgb, spread: 0.5)

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    writer = setup.report(ExposureReport.self)
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    let inForce = frame.record.inForce
    let setting = log2(Double(inForce.exposureMicroseconds) / 10_000 * Double(inForce.gain))
    let seen = sensor.expose(setting - (frame.record.number < 100 ? 0 : 1))
    var report = ExposureReport()
    (report.offset, report.clipped, report.histogram) = (seen.offset, seen.clipped, seen.histogram)
    if let writer { frame.write(report, writer) }
    return .keep
  }
}

@Suite struct LiveExposureTests {
  /// log2 of exposure times gain of each of 200 frames, 0 for what is right before frame 100, and the state.
  private func run(
    _ changes: [(UInt64, (inout NewValues<AutoExposure.Settings>) -> Void)],
    _ choose: (inout AutoExposure.Settings) -> Void = { _ in }
  ) throws -> [(setting: Double, state: AutoExposureReport.State?)] {
    let controls = [
      ControlDescription(
        name: "exposure", unit: "us", minimum: 10, maximum: 30_000, step: 1, defaultValue: 4000),
      ControlDescription(
        name: "gain", unit: "", minimum: 1, maximum: 16, step: 0.01, defaultValue: 1),
    ]
    let camera = TestCamera(controls: controls) { number, values in
      guard number < 200 else { return nil }
      var frame = TestFrame(width: 1, height: 1, luma: [0])
      frame.record.inForce.exposureMicroseconds = Float(values[0])
      frame.record.inForce.gain = Float(values[1])
      return .picture(frame)
    }
    let run = try TestRun(
      of: camera, through: [StageChoice(SimulatedMeter.plugin), .autoExposure(choose)],
      changing: changes.map {
        TestRun.Change(at: $0.0, "autoexposure", of: AutoExposure.Settings.self, $0.1)
      }, pictures: false)
    return run.frames.map { frame in
      let inForce = frame.record?.inForce ?? ControlState()
      return (
        log2(Double(inForce.exposureMicroseconds) / 10_000 * Double(inForce.gain)),
        frame.report(AutoExposureReport.self)?.state
      )
    }
  }

  @Test func aLiveBiasIsReached() throws {
    let frames = try run([(50, { $0.bias = -1 })])
    expectLess(abs(frames[49].setting), 0.15)
    expectLess(abs(frames[99].setting + 1), 0.15)
    expectLess(abs(frames[199].setting), 0.15)
  }

  /// The exposure that was asked for last stays, in other light, too, until `mode` is another.
  @Test func aLiveLockKeepsTheExposure() throws {
    let frames = try run([(60, { $0.mode = .locked }), (140, { $0.mode = .continuous })])
    expectLess(abs(frames[60].setting), 0.15)
    expectTrue(frames[60..<142].allSatisfy { $0.setting == frames[60].setting })
    expectTrue(frames[60..<140].allSatisfy { $0.state == .locked })
    expectLess(abs(frames[199].setting - 1), 0.15)
  }

  @Test func liveCustomExposureAndGainAreSet() throws {
    let frames = try run([
      (60, { ($0.mode, $0.exposure, $0.gain) = (.custom, 20_000, 2) }), (120, { $0.gain = 4 }),
    ])
    expectTrue(abs(frames[70].setting - 2) < 1e-6 && frames[70].state == .custom)
    expectEqual(frames[119].setting, frames[70].setting)
    expectLess(abs(frames[199].setting - 3), 1e-6)
  }

  /// Once right, `auto` is locked; asked again, it adjusts to the light that there is.
  @Test func liveAutoAdjustsOnce() throws {
    let frames = try run([(20, { $0.mode = .auto }), (150, { $0.mode = .auto })])
    expectTrue(frames[99].state == .locked && frames[149].state == .locked)
    expectEqual(frames[99].setting, frames[149].setting)
    expectTrue(abs(frames[199].setting - 1) < 0.15 && frames[199].state == .locked)
  }

  @Test func aLiveSpeedBoundsEachStep() throws {
    let frames = try run([(50, { $0.speed = 0.1 })])
    let steps = zip(frames[51...], frames[52...]).map { abs($1.setting - $0.setting) }
    expectTrue(steps.allSatisfy { $0 <= 0.1 + 1e-3 })
    expectGreater(frames[199].setting, 0.5)
  }
}
