import RepeatedFrameDrop
import SprocketTesting
import TestExpectations
import Testing

/// A grey JPEG of 8x8 pixels, made by libjpeg; `level` is the coefficient's byte, and `note` a comment that
/// changes no pixel.
private func jpeg(_ level: UInt8, note: [UInt8] = []) throws -> TestFrame {
  let tables: [UInt8] = [
    255, 219, 0, 67, 0, 16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22,
    22, 24, 49, 35, 37, 29, 40, 58, 51, 61, 60, 57, 51, 56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55,
    56, 80, 109, 81, 87, 95, 98, 103, 104, 103, 62, 77, 113, 121, 112, 100, 120, 92, 101, 103, 99,
    255, 192, 0, 11, 8, 0, 8, 0, 8, 1, 1, 17, 0, 255, 196, 0, 20, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 6, 255, 196, 0, 20, 16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    255, 218, 0, 8, 1, 1, 0, 0, 63, 0, level, 255, 217,
  ]
  let comment = note.isEmpty ? [] : [255, 254, 0, UInt8(note.count + 2)] + note
  return try TestFrame(jpeg: [255, 216] + comment + tables)
}

private let dark: UInt8 = 38
private let bright: UInt8 = 72

private func grey(_ level: UInt8, width: Int = 5, height: Int = 3) -> TestFrame {
  TestFrame(width: width, height: height, luma: [UInt8](repeating: level, count: width * height))
}

/// The numbers of the frames that passed. The camera has 30 frames per second.
private func passed(
  _ steps: [TestCamera.Step], _ choose: (inout RepeatedFrameDrop.Settings) -> Void = { _ in }
) throws -> [UInt64] {
  let run = try TestRun(of: TestCamera(steps), through: [.repeatDrop(choose)])
  return run.frames.filter { $0.fate == .delivered }.map(\.number)
}

@Test func dropsEqualPixelsAsRejected() throws {
  let frames = [1, 1, 2, 2, 2, 1].map { grey($0) }
  let run = try TestRun(of: TestCamera(frames), through: [.repeatDrop()])
  expectEqual(
    run.frames.map(\.fate), [.delivered, .rejected, .delivered, .rejected, .rejected, .delivered])
  expectEqual(run.summary.stages.map(\.rejected), [0, 3])
}

@Test func oneSampleOfAnyPlaneIsEnough() throws {
  for format in TestFrame.formats where format.imageFormat == format {
    for (width, height) in [(1, 1), (17, 5), (32, 16)] {
      let first = TestFrame(format, width: width, height: height, .random)
      for plane in first.planes.indices {
        var other = first
        other.planes[plane][other.planes[plane].count - 1] ^= 1
        let steps = [first, first, other, other].map { TestCamera.Step.picture($0) }
        try expectEqual(passed(steps), [0, 2])
      }
    }
  }
}

@Test func dropsEqualBytesBeforeTheyAreUnpacked() throws {
  let frames = try [dark, dark, bright, bright].map { try jpeg($0) }
  let run = try TestRun(of: TestCamera(frames), through: [.repeatDrop()])
  expectEqual(run.frames.map(\.fate), [.delivered, .rejected, .delivered, .rejected])
  expectEqual(run.summary.stages.map(\.name), ["repeatdrop/bytes", "repeatdrop/pixels"])
  expectEqual(run.summary.stages.map(\.rejected), [2, 0])
  expectEqual(run.summary.unpack?.count, 2)
}

@Test func otherBytesOfEqualPixelsAreDropped() throws {
  let frames = try [jpeg(dark), jpeg(dark, note: [1]), jpeg(dark), jpeg(bright)]
  let run = try TestRun(of: TestCamera(frames), through: [.repeatDrop()])
  expectEqual(run.frames.map(\.fate), [.delivered, .rejected, .rejected, .delivered])
  expectEqual(run.summary.stages.map(\.rejected), [0, 2])
}

@Test func bytesAloneUnpackNothing() throws {
  let frames = try [jpeg(dark), jpeg(dark), jpeg(dark, note: [1]), jpeg(bright)]
  let run = try TestRun(
    of: TestCamera(frames), through: [.repeatDrop { $0.compare = .bytes }], pictures: false)
  expectEqual(run.frames.map(\.fate), [.delivered, .rejected, .delivered, .delivered])
}

@Test func bytesAloneAreRefusedWhereNothingIsCompressed() throws {
  let error = #expect(throws: (any Error).self) {
    try passed([.picture(grey(1))]) { $0.compare = .bytes }
  }
  expectTrue("\(error.map { "\($0)" } ?? "")".contains("give compare=all"))
}

@Test func oneRepeatPassesInEachPeriod() throws {
  // 100 ms are three frames: 0, 100, 200 and 300 ms begin periods.
  let steps = [TestCamera.Step](repeating: .picture(grey(9)), count: 12)
  try expectEqual(passed(steps) { $0.every = .milliseconds(100) }, [0, 3, 6, 9])
  try expectEqual(passed(steps), [0])
}

@Test func bothStagesPassTheSameFrameOfAPeriod() throws {
  // Bytes change at each frame but the last four, pixels never do.
  let notes = (0..<12).map { UInt8(min($0, 8)) }
  let steps = try notes.map { TestCamera.Step.picture(try jpeg(dark, note: [$0])) }
  try expectEqual(passed(steps) { $0.every = .milliseconds(100) }, [0, 3, 6, 9])
}

@Test func damageBetweenRepeatsChangesNothing() throws {
  let steps: [TestCamera.Step] = [
    .picture(grey(1)), .damaged, .picture(grey(1)), .missing(2), .picture(grey(1)),
    .picture(grey(2)),
  ]
  try expectEqual(passed(steps), [0, 6])
}

@Test func nothingIsComparedAcrossEpochs() throws {
  let steps: [TestCamera.Step] = [
    .picture(grey(1)), .picture(grey(1)), .replug(), .picture(grey(1)), .picture(grey(1)),
    // Another size, smaller and larger.
    .picture(grey(1, width: 4)), .picture(grey(1, width: 4)),
    .picture(grey(1, width: 40, height: 30)), .picture(grey(1, width: 40, height: 30)),
  ]
  try expectEqual(passed(steps), [0, 2, 4, 6])
}

@Test func workersDoNotChangeIt() throws {
  let levels: [UInt8] = (0..<60).map { $0 / 7 % 3 == 0 ? 1 : UInt8($0 / 5) }
  try expectNil(
    TestRun.firstDifference(through: [.repeatDrop { $0.every = .milliseconds(200) }]) {
      TestCamera(levels.map { grey($0) })
    })
}

@Test func aLiveChangeOfThePeriodHoldsFromItsFrame() throws {
  let camera = TestCamera([TestFrame](repeating: grey(1), count: 12))
  let change = TestRun.Change(at: 5, "repeatdrop", of: RepeatedFrameDrop.Settings.self) {
    $0.every = .milliseconds(100)
  }
  let run = try TestRun(of: camera, through: [.repeatDrop()], changing: [change])
  expectEqual(run.frames.filter { $0.fate == .delivered }.map(\.number), [0, 5, 6, 9])
}

@Test func allocatesNothing() throws {
  let frame = grey(1, width: 64, height: 48)
  var stage = try StageUnderTest(RepeatedPixelStage(), for: frame)
  expectEqual(stage.process(frame).verdict, .keep)
  for level in 2..<6 {
    let next = grey(UInt8(level), width: 64, height: 48)
    expectEqual(stage.process(next).allocations, 0)
    let repeated = stage.process(next)
    expectEqual(repeated.verdict, .drop(.rejected))
    expectEqual(repeated.allocations, 0)
  }
}
