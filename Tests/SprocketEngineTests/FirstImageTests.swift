import SprocketCore
import SprocketEngine
import TestExpectations
import Testing

/// Grey pictures that are a mosaic's samples, as they are.
private struct AsGrey: Stage {
  static let order = Order.any
  static let plugin = Plugin("asgrey", "a mosaic's samples as grey", AsGrey.self)

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.firstImage)
    var format = setup.format
    format.image = .grey
    return format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    var picture = frame.edit()
    for y in 0..<picture.rows(plane: 0) {
      let source = picture.source[plane: 0]
      var row = picture.row(y, plane: 0)
      for x in row.indices { row[x] = source[row: y][x] }
    }
    return .keep
  }
}

/// Mosaics, of which a stage and not the engine makes the first picture.
@Suite struct FirstImageTests {
  private func mosaics(frames: Int, lends: Bool) -> ScriptedSource {
    let source = ScriptedSource(frames: frames, lends: lends)
    source.pixels = .bayerRGGB
    return source
  }

  /// The source overwrites what comes home: a picture that was made too late would be torn.
  @Test(arguments: [1, 4], [false, true])
  func r4WhatIsLentStaysUntilTheFirstPictureIsMade(workers: Int, lends: Bool) throws {
    let sink = RecordingSink()
    _ = try run(
      mosaics(frames: 1_000, lends: lends), [Jitter.plugin, AsGrey.plugin, AddOne.plugin],
      sinks: [sink], workers: workers)
    expectFalse(sink.isTorn)
    expectEqual(sink.lines.map(\.byte), (0..<1_000).map { UInt8(truncatingIfNeeded: $0 + 1) })
  }

  @Test func nothingIsUnpackedForIt() throws {
    let summary = try run(
      mosaics(frames: 3, lends: true), [AsGrey.plugin], sinks: [RecordingSink()])
    expectEqual(summary.lanes.flatMap(\.steps), ["asgrey"])
  }

  @Test func aFrameOfWhichNothingArrivedIsCorrupt() throws {
    let source = mosaics(frames: 3, lends: false)
    source.isEmpty = true
    let sink = RecordingSink()
    _ = try run(source, [AsGrey.plugin], sinks: [sink])
    expectEqual(sink.lines.map(\.fate), [.corrupt, .corrupt, .corrupt])
  }

  @Test func refusesFramesThatHaveAPicture() {
    let error = #expect(throws: RunError.self) {
      try Engine(
        source: ScriptedSource(frames: 1), stages: [StageChoice(AsGrey.plugin)],
        sinks: [RecordingSink()], options: RunOptions()
      ) { GreyUnpacker() }
    }
    expectEqual(error?.description.contains("GREY frames have one"), true)
    expectEqual(error?.settings, [.stage])
  }
}
