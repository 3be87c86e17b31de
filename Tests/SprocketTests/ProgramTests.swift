import Glibc
import SprocketStages
import SprocketTesting
import TestExpectations
import TestSupport
import Testing

/// What a program that imports the library can do without the command line.
@Suite struct ProgramTests {
  private func scene(_ change: (inout SceneSettings) -> Void = { _ in }) throws -> SceneSource {
    var settings = SceneSettings()
    settings.width = 64
    settings.height = 48
    settings.pace = .fast
    change(&settings)
    return try SceneSource(settings)
  }

  private func run(
    _ source: any Source, _ stages: [StageChoice] = [], _ sinks: [any Sink], frames: UInt64? = nil
  ) throws -> RunSummary {
    let engine = try Engine(
      source: source, stages: stages, sinks: sinks, options: RunOptions(frameLimit: frames))
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    return engine.summary
  }

  // MARK: Settings

  @Test func settingsByPropertyAreThoseOfTheCommandLine() throws {
    expectEmpty(StageChoice.meter().settings.chosen.map(\.text))
    let stabilize = StageChoice.stabilize {
      $0.mode = .standard
      $0.crop = 0.1
    }
    let asText = try StageChoice(stabilize.plugin, ["mode": "standard", "crop": "0.1"])
    expectTrue(stabilize == asText)
    let drop = StageChoice.lateDrop { $0.budget = .milliseconds(40) }
    expectTrue(drop == (try StageChoice(LateFrameDrop.plugin, ["budget": "40ms"])))
    let focus = StageChoice.autoFocus { $0.backlash = 0.125 }
    expectEqual(focus.settings.chosen.map { "\($0.name)=\($0.text)" }, ["backlash=0.125"])
  }

  @Test(arguments: [0.3, .nan, -.infinity]) func valuesThatAreNotAllowedAreRefused(
    _ crop: Double
  ) throws {
    let source = try scene()
    let error = #expect(throws: RunError.self) {
      _ = try Engine(source: source, stages: [.stabilize { $0.crop = crop }], sinks: [NullSink()])
    }
    expectEqual(error?.code, .usage)
    expectEqual(error?.description.contains("give 0 to 0.25"), true)
  }

  @Test func settingsOfASourceAreCheckedToo() throws {
    let error = #expect(throws: RunError.self) { _ = try scene { $0.shake = .infinity } }
    expectEqual(error?.code, .usage)
    expectEqual(error?.description.contains("give 0 to 40"), true)
    #expect(throws: RunError.self) { _ = try scene { $0.quality = 1000 } }
    var settings = FileSettings()
    settings.startup = -1
    let file = FileSource(path: "/dev/null", settings)
    #expect(throws: RunError.self) { _ = try Engine(source: file, sinks: [NullSink()]) }
  }

  // MARK: A run's life

  /// A dump needs a sink at both ends of the chain; the engine adds the second one.
  @Test func aDumpAloneIsWholeAndEqualNamesAreRefused() throws {
    let file = try TestFile(ending: "mcap")
    let dump = DumpSink(path: file.path, overwrite: true)
    let summary = try run(try scene(), [], [dump], frames: 5)
    expectEqual(summary.ledger.entries.map(\.sink), ["dump", "dump-fates"])
    let again = try TestRun(of: ReplaySource(path: file.path))
    expectEqual(again.frames.map(\.fate), Array(repeating: .delivered, count: 5))
    let error = #expect(throws: RunError.self) {
      try run(try scene(), [], [NullSink(), NullSink()])
    }
    expectEqual(error?.description.hasPrefix("two sinks are called null"), true)
  }

  @Test func aRunIsStartedOnce() throws {
    let engine = try Engine(
      source: try scene(), sinks: [NullSink()], options: RunOptions(frameLimit: 5))
    expectFalse(engine.wait(for: .milliseconds(1)))
    try engine.start()
    #expect(throws: RunError.self) { try engine.start() }
    expectTrue(engine.wait(for: longestWait))
    #expect(throws: RunError.self) { try engine.start() }
    expectEqual(engine.summary.ledger.produced, 5)
  }

  /// What the program does while it fills a frame holds up neither the run nor itself.
  @Test func aFrameIsFilledWithoutALock() throws {
    let format = FrameFormat(
      pixelFormat: .grey, width: 8, height: 4, color: .jpeg, rate: FrameRate(frames: 25))
    let source = PushSource(format: format)
    let engine = try Engine(source: source, sinks: [NullSink()])
    try engine.start()
    let frame = [UInt8](repeating: 1, count: 32)
    expectEqual(source.push(frame.span), .taken)
    let last = source.push { room in
      expectFalse(source.hasRoom)
      expectEqual(source.push(frame.span, waiting: .zero), .full)
      // The run waits for the frame that is being filled.
      source.finish()
      expectFalse(engine.wait(for: .milliseconds(50)))
      var room = room
      for index in room.indices { room[index] = 2 }
    }
    expectEqual(last, .taken)
    expectTrue(engine.wait(for: longestWait))
    expectEqual(engine.summary.ledger.produced, 2)
    expectEqual(source.push(frame.span), .over)
  }

  @Test func aRunThatIsNeverStartedClosesItsSource() throws {
    let format = FrameFormat(
      pixelFormat: .grey, width: 8, height: 4, color: .jpeg, rate: .unknown)
    let source = PushSource(format: format)
    var engine: Engine? = try Engine(source: source, sinks: [NullSink()])
    let frame = [UInt8](repeating: 1, count: 32)
    expectEqual(source.push(frame.span), .taken)
    expectEqual(engine?.summary.isOver, false)
    engine = nil
    expectEqual(source.push(frame.span), .over)
  }

  /// Under ThreadSanitizer, too: nothing that is asked belongs to the run's threads.
  @Test func progressAndSummaryMayBeAskedWhileEpochsChange() async throws {
    let source = try scene { $0.faults.formatChange = 0.05 }
    let engine = try Engine(
      source: source, stages: [.meter(), .focus()], sinks: [ChecksumSink(), NullSink()],
      options: RunOptions(workers: 2, frameLimit: 400))
    try engine.start()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          var (epochs, produced): (Int, UInt64) = (0, 0)
          while true {
            let summary = engine.summary
            expectAtLeast(summary.epochs, epochs)
            expectAtLeast(summary.ledger.produced, produced)
            (epochs, produced) = (summary.epochs, summary.ledger.produced)
            for entry in summary.ledger.entries { expectAtMost(entry.counts.sum, produced) }
            expectEqual(summary.stages.count, 2)
            expectFalse(engine.description.name.isEmpty)
            if summary.isOver { return }
            _ = engine.progress
            try await Task.sleep(for: .milliseconds(1))
          }
        }
      }
      try await group.waitForAll()
    }
    expectTrue(engine.wait(for: longestWait))
    let summary = engine.summary
    expectGreater(summary.epochs, 5)
    expectTrue(summary.ledger.isBalanced)
    expectEqual(summary.ledger.produced, 400)
    expectGreater(summary.stages[0].duration.count, 0)
  }

  @Test func whatASourceCannotWriteIsAnError() throws {
    let summary = try run(try scene { $0.truth = "/dev/full" }, [], [NullSink()], frames: 5)
    expectEqual(summary.ledger.produced, 5)
    expectEqual(summary.errors.count, 1)
    expectEqual(summary.errors.first?.description.contains("writing to /dev/full"), true)
  }

  // MARK: Closures as sinks

  @Test func aClosureGetsFramesWithTheirReports() throws {
    let seen = Locked<[(number: UInt64, luminance: Double?, mean: Int)]>([])
    let sink = ClosureSink(reading: .luma(.eighth)) { frame in
      let row = frame.luma(.eighth)[row: 0]
      var sum = 0
      for x in row.indices { sum += Int(row[x]) }
      let entry = (
        frame.record.number, frame.report(ExposureReport.self)?.logLuminance, sum / row.count
      )
      expectNil(frame.report(FocusReport.self))
      seen.withLock { $0.append(entry) }
    }
    let summary = try run(try scene(), [.meter()], [sink], frames: 20)
    expectEqual(summary.ledger.entries[0].counts[.delivered], 20)
    let found = seen.withLock { $0 }
    expectEqual(found.map(\.number), Array(0..<20))
    expectTrue(found.allSatisfy { $0.luminance?.isFinite == true && $0.mean > 0 })
  }

  @Test func anErrorOfAClosureEndsThatSinkAlone() throws {
    struct Full: Error, CustomStringConvertible { let description = "the table is full" }
    let failing = ClosureSink("table") { frame in
      if frame.record.number == 3 { throw Full() }
    }
    let summary = try run(try scene(), [], [failing, ChecksumSink()], frames: 10)
    expectEqual(summary.ledger.entries[0].counts[.delivered], 3)
    expectEqual(summary.ledger.entries[1].counts[.delivered], 10)
    expectEqual(summary.errors.count, 1)
    expectTrue(summary.errors[0].description.contains("the table is full"))
  }

  // MARK: Copies

  @Test(arguments: [1, 8]) func everyCopyIsReadInOrder(_ bound: Int) async throws {
    let copies = FrameCopies(of: .luma(.full), keeping: .every(bound))
    let engine = try Engine(
      source: try scene(), sinks: [copies], options: RunOptions(frameLimit: 50))
    try engine.start()
    var numbers: [UInt64] = []
    for await frame in copies {
      expectEqual(frame.bytes.count, 64 * 48)
      expectEqual(frame.pixels, .grey)
      expectEqual(frame.width, 64)
      expectGreater(Set(frame.bytes).count, 10)
      numbers.append(frame.record.number)
    }
    expectEqual(numbers, Array(0..<50))
    expectTrue(engine.wait(for: longestWait))
    expectEqual(engine.summary.ledger.entries[0].counts[.delivered], 50)
  }

  @Test(arguments: [1, 2, 3, 300] as [UInt64])
  func theNewestCopyHoldsUpNobody(_ frames: UInt64) async throws {
    let copies = FrameCopies(of: .encoded)
    let engine = try Engine(
      source: try scene(), sinks: [copies, ChecksumSink()], options: RunOptions(frameLimit: frames))
    try engine.start()
    // Nobody reads until the run is over.
    while !engine.summary.isOver { try await Task.sleep(for: .milliseconds(5)) }
    var numbers: [UInt64] = []
    for await frame in copies {
      expectEqual(frame.bytes.prefix(2), [0xFF, 0xD8])
      numbers.append(frame.record.number)
    }
    expectEqual(numbers, [frames - 1])
    let summary = engine.summary
    expectTrue(summary.ledger.isBalanced && summary.ledger.entries[1].counts[.delivered] == frames)
    // What the sink's thread passed over was not delivered.
    let replaced = summary.ledger.entries[0].counts[.delivered] - 1
    let note: String? =
      switch replaced {
      case 0: nil
      case 1: "1 frame of `copies` was replaced by a newer one before it was read"
      default: "\(replaced) frames of `copies` were replaced by newer ones before they were read"
      }
    expectEqual(summary.notes.first { $0.contains("replaced") }, note)
  }

  @Test func aReaderThatLeavesEndsItsSinkAlone() async throws {
    let copies = FrameCopies(keeping: .every(2))
    let engine = try Engine(
      source: try scene(), sinks: [copies, ChecksumSink()], options: RunOptions(frameLimit: 60))
    try engine.start()
    for await frame in copies where frame.record.number == 4 { break }
    while !engine.summary.isOver { try await Task.sleep(for: .milliseconds(5)) }
    let summary = engine.summary
    expectEmpty(summary.errors)
    expectTrue(summary.ledger.isBalanced)
    expectGreater(summary.ledger.entries[0].counts[.flushed], 0)
    expectEqual(summary.ledger.entries[1].counts[.delivered], 60)
  }

  @Test func copiesThatNobodyReadsDoNotHoldUpTheEnd() async throws {
    let copies = FrameCopies(keeping: .every(2))
    let engine = try Engine(
      source: try scene(), sinks: [copies, ChecksumSink()], options: RunOptions(frameLimit: 60))
    try engine.start()
    while engine.progress.delivered[0] < 2 { try await Task.sleep(for: .milliseconds(1)) }
    engine.stop()
    engine.stop()
    while !engine.summary.isOver { try await Task.sleep(for: .milliseconds(5)) }
    let summary = engine.summary
    expectEmpty(summary.errors)
    expectTrue(summary.ledger.isBalanced)
    var count: UInt64 = 0
    for await _ in copies { count += 1 }
    expectEqual(count, summary.ledger.entries[0].counts[.delivered])
  }

  @Test func copiesOfARunThatIsNeverStartedEnd() async throws {
    let copies = FrameCopies()
    var engine: Engine? = try Engine(source: try scene(), sinks: [copies])
    let reading = Task {
      var count = 0
      for await _ in copies { count += 1 }
      return count
    }
    expectEqual(engine?.summary.isOver, false)
    engine = nil
    await expectEqual(reading.value, 0)
  }

  // MARK: Frames of the program's own

  private static let small = FrameFormat(
    pixelFormat: .rgb24, width: 5, height: 3, color: .jpeg, rate: FrameRate(frames: 25))

  @Test func pushedFramesAreTheRunsFrames() throws {
    let source = PushSource(format: Self.small, room: 2)
    let sums = Locked<[Int]>([])
    let times = Locked<[Int64]>([])
    let sink = ClosureSink(reading: .encoded) { frame in
      times.withLock { $0.append(frame.record.captured.nanoseconds) }
      let plane = frame.sourcePlane(0)
      var sum = 0
      for y in 0..<plane.rows {
        let row = plane[row: y]
        for x in row.indices { sum += Int(row[x]) }
      }
      sums.withLock { $0.append(sum) }
    }
    let engine = try Engine(source: source, sinks: [sink])
    try engine.start()
    for value in 0..<200 {
      let frame = [UInt8](repeating: UInt8(value), count: 45)
      expectEqual(source.push(frame.span), .taken)
    }
    source.finish()
    expectTrue(engine.wait(for: longestWait))
    expectEqual(times.withLock { $0 }, (0..<200).map { $0 * 40_000_000 })
    expectEqual(sums.withLock { $0 }, (0..<200).map { $0 * 45 })
    expectTrue(engine.summary.ledger.isBalanced)
    expectEqual(engine.summary.ledger.produced, 200)
  }

  @Test func framesWithoutRoomAreMissingWhereTheSourceIsLive() throws {
    let source = PushSource(format: Self.small, isLive: true, room: 2)
    let frame = [UInt8](repeating: 9, count: 45)
    let engine = try Engine(source: source, sinks: [NullSink()])
    let pushed = (0..<5).map { _ in source.push(frame.span) }
    expectEqual(pushed, [.taken, .taken, .full, .full, .full])
    try engine.start()
    expectEqual(source.push(frame.span, waiting: .seconds(30)), .taken)
    source.finish()
    expectTrue(engine.wait(for: longestWait))
    let counts = engine.summary.ledger.entries[0].counts
    expectTrue(counts[.missing] == 3 && counts[.delivered] == 3)
  }

  @Test func mosaicsOfAProgramBecomePictures() throws {
    let format = FrameFormat(
      pixelFormat: .bayerRGGB, width: 4, height: 2, color: .jpeg, rate: FrameRate(frames: 30))
    let source = PushSource(format: format)
    let found = Locked<[UInt8]>([])
    let sink = ClosureSink(reading: .image) { frame in
      let luma = frame.image[plane: 0]
      found.withLock { found in
        for y in 0..<luma.rows { for x in 0..<4 { found.append(luma[row: y][x]) } }
      }
    }
    let engine = try Engine(source: source, stages: [.debayer()], sinks: [sink])
    try engine.start()
    // Red 200, green 100, blue 50: 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2.
    let mosaic: [UInt8] = [200, 100, 200, 100, 100, 50, 100, 50]
    expectEqual(source.push(mosaic.span), .taken)
    source.finish()
    expectTrue(engine.wait(for: longestWait))
    expectEqual(found.withLock { $0 }, [UInt8](repeating: 124, count: 8))
  }

  @Test func whoeverPushesLearnsThatTheRunIsOver() throws {
    let source = PushSource(format: Self.small, room: 1)
    let engine = try Engine(
      source: source, sinks: [NullSink()], options: RunOptions(frameLimit: 3))
    try engine.start()
    let frame = [UInt8](repeating: 9, count: 45)
    expectEqual(source.push(frame.span, waiting: .seconds(30)), .taken)
    var pushed = PushSource.Pushed.taken
    for _ in 0..<100 where pushed != .over {
      pushed = source.push(frame.span, waiting: .seconds(30))
    }
    expectEqual(pushed, .over)
    expectTrue(engine.wait(for: longestWait))
  }
}
