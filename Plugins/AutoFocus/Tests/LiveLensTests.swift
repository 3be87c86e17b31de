import SprocketTesting
import TestExpectations
import Testing

@testable import AutoFocus

/// Stands for `focus`: a peak at 0.7, from frame 100 on at 0.2.
private struct SimulatedScore: Stage {
  typealias Report = FocusReport
  static let order = Order.any
  static let plugin = Plugin("focus", "how sharp a lens is", SimulatedScore.self)
  private var writer: ReportWriter<FocusReport>?

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    writer = setup.report(FocusReport.self)
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    let sharpAt = frame.record.number < 100 ? 0.7 : 0.2
    var report = FocusReport()
    report.score = peak(at: sharpAt, width: 0.1)(Double(frame.record.inForce.lensPosition))
    report.contrast = 0.5
    if let writer { frame.write(report, writer) }
    return .keep
  }
}

@Suite struct LiveLensTests {
  /// The lens at each of 300 frames, 0 to 1, and the state.
  private func run(
    _ changes: [(UInt64, (inout NewValues<AutoFocus.Settings>) -> Void)]
  ) throws -> [(lens: Double, state: FocusControl.State?)] {
    let lens = ControlDescription(
      name: "lens", unit: "", minimum: 0, maximum: 1, step: 0.01, defaultValue: 0.5)
    let camera = TestCamera(controls: [lens]) { number, values in
      guard number < 300 else { return nil }
      var frame = TestFrame(width: 1, height: 1, luma: [0])
      frame.record.inForce.lensPosition = Float(values[0])
      return .picture(frame)
    }
    let run = try TestRun(
      of: camera, through: [StageChoice(SimulatedScore.plugin), .autoFocus { $0.speed = 0 }],
      changing: changes.map {
        TestRun.Change(at: $0.0, "autofocus", of: AutoFocus.Settings.self, $0.1)
      }, pictures: false)
    return run.frames.map {
      (
        Double($0.record?.inForce.lensPosition ?? .nan),
        $0.report(AutoFocus.Report.self)?.state
      )
    }
  }

  /// The lens stays where it is while the scene becomes sharp elsewhere, until `mode` is another.
  @Test func aLiveLockKeepsTheLens() throws {
    let frames = try run([(90, { $0.mode = .locked }), (200, { $0.mode = .continuous })])
    expectLess(abs(frames[90].lens - 0.7), 0.03)
    expectTrue(frames[90..<202].allSatisfy { $0.lens == frames[90].lens })
    expectTrue(frames[90..<200].allSatisfy { $0.state == .locked })
    expectTrue(abs(frames[299].lens - 0.2) < 0.03 && frames[299].state == .focused)
  }

  @Test func aLivePositionIsTaken() throws {
    let frames = try run([
      (50, { ($0.mode, $0.position) = (.custom, 0.9) }), (150, { $0.position = 0.1 }),
    ])
    expectTrue(abs(frames[140].lens - 0.9) < 1e-6 && frames[140].state == .locked)
    expectTrue(abs(frames[299].lens - 0.1) < 1e-6 && frames[299].state == .locked)
  }

  /// Once sharp, `auto` is locked; asked again, it searches once more.
  @Test func liveAutoFocusesOnce() throws {
    let frames = try run([(30, { $0.mode = .auto }), (200, { $0.mode = .auto })])
    expectTrue(frames[99].state == .locked && frames[299].state == .locked)
    expectTrue(frames[99].lens == frames[201].lens && abs(frames[99].lens - 0.7) < 0.03)
    expectLess(abs(frames[299].lens - 0.2), 0.03)
  }
}
