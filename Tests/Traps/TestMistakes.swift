import SprocketTesting

/// Reads full luma, and writes past the end of a row.
private struct Overwriter: Stage {
  static let order = Order.any
  var writes = false

  struct Settings: KindSettings {
    var level = 0.5
    var count = 1
    static var settings: [Setting<Self>] {
      [
        Setting("level", \.level, range: 0...1, "is live").live,
        Setting("count", \.count, range: 1...9, "is not"),
      ]
    }
  }
  var settings = Settings()

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.full))
    if writes { try setup.writes(.inPlace) }
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    guard writes else { return .keep }
    var picture = frame.edit()
    var row = picture.row(0, plane: 0)
    unsafe row.withUnsafeMutableBufferPointer { row in
      guard let start = row.baseAddress else { return }
      unsafe start[row.count] = 0
    }
    return .keep
  }
}

/// Makes a mistake that is only possible in a test.
func makeInTest(_ mistake: Mistake) throws {
  let frame = TestFrame(width: 4, height: 2, luma: [UInt8](repeating: 0, count: 8))
  var stage = try StageUnderTest(Overwriter(), for: frame)
  switch mistake {
  case .testEncoded: _ = TestFrame(.mjpeg, width: 4, height: 2, .zeros)
  case .testPlanes: _ = TestFrame(.i420, width: 4, height: 2, planes: [[]])
  case .testPlaneBytes: _ = TestFrame(width: 4, height: 2, luma: [0])
  case .testEarlier: _ = stage.process(frame, earlier: [frame])
  case .testLater: _ = stage.process(frame, later: [frame])
  case .testFormat: _ = stage.process(TestFrame(width: 8, height: 1, luma: frame.planes[0]))
  case .testLuma: _ = stage.process(frame).luma(.half)
  case .testReport: _ = stage.report(on: frame)
  case .testDamaged:
    let jpeg = FrameFormat(
      pixelFormat: .mjpeg, image: .i420, width: 4, height: 2, color: .jpeg, rate: .unknown)
    var damaged = frame
    (damaged.format, damaged.planes) = (jpeg, [[0]])
    var stage = try StageUnderTest(Overwriter(), for: damaged)
    _ = stage.process(damaged)
  case .testPadding:
    var stage = try StageUnderTest(Overwriter(writes: true), for: frame)
    _ = stage.process(frame)
  case .testDelay: _ = TestCamera(delay: 0) { _, _ in nil }
  case .testMissing: _ = try TestRun(of: TestCamera([.missing(-1), .picture(frame)]))
  case .testChange: _ = stage.change { $0.count = 2 }
  case .testValue: _ = stage.change { $0.level = 2 }
  case .testWorkers:
    _ = try TestRun.firstDifference(betweenWorkers: [4], through: []) { TestCamera([frame]) }
  default: break
  }
}
