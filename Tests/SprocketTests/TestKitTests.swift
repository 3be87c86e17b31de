import SprocketTesting
import TestExpectations
import Testing

/// Reports levels of the neighbouring frames, and received events.
private struct Around: Stage {
  static let order = Order.sequence
  static let plugin = Plugin("around", "reports what is around", Around.self)
  struct Settings: KindSettings {
    var reject = -1
    static var settings: [Setting<Self>] {
      [Setting("reject", \.reject, range: -1...255, "drops frames of that level")]
    }
  }

  struct Report: FrameReport {
    var before: Int64 = -1
    var after: Int64 = -1
    var events: Int64 = 0
    static let fields: [ReportField<Self>] = [
      ReportField("before", \.before), ReportField("after", \.after),
      ReportField("events", \.events),
    ]
  }

  var settings = Settings()
  private var writer: ReportWriter<Report>?

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.full))
    setup.readsHistory(1)
    setup.readsAhead(1)
    writer = setup.report(Report.self)
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    if Int(frame.luma()[row: 0][0]) == settings.reject { return .drop(.rejected) }
    var report = Report(events: Int64(frame.eventCount))
    if let before = frame.earlier() { report.before = Int64(before.luma()[row: 0][0]) }
    if let after = frame.later() { report.after = Int64(after.luma()[row: 0][0]) }
    frame.write(report, writer)
    return .keep
  }
}

/// Reports the numbers of neighbouring frames.
private struct Numbers: Stage {
  static let order = Order.any
  static let plugin = Plugin("numbers", "numbers of the neighbouring frames", Numbers.self)
  struct Report: FrameReport {
    var first: Int64 = -1
    var second: Int64 = -1
    var after: Int64 = -1
    static let fields: [ReportField<Self>] = [
      ReportField("first", \.first), ReportField("second", \.second),
      ReportField("after", \.after),
    ]
  }
  var history = 2
  var lookahead = 0
  private var writer: ReportWriter<Report>?
  init() {}
  init(history: Int, lookahead: Int) { (self.history, self.lookahead) = (history, lookahead) }
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.full))
    setup.readsHistory(history)
    setup.readsAhead(lookahead)
    writer = setup.report(Report.self)
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    var report = Report()
    if let before = frame.earlier() { report.first = Int64(before.record.number) }
    if history > 1, let before = frame.earlier(1) { report.second = Int64(before.record.number) }
    if lookahead > 0, let after = frame.later() { report.after = Int64(after.record.number) }
    frame.write(report, writer)
    return .keep
  }
}

/// A wrong negative: it skips the last byte of each row, and allocates.
private struct Careless: Stage {
  static let order = Order.any
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.nextImage)
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict {
    var picture = frame.edit()
    for plane in 0..<picture.planeCount {
      for y in 0..<picture.rows(plane: plane) {
        let old = picture.source[plane: plane][row: y]
        let copy = old.indices.map { old[$0] }
        var row = picture.row(y, plane: plane)
        for x in 0..<row.count { row[x] = x + 1 == row.count ? copy[x] : 255 - copy[x] }
      }
    }
    return .keep
  }
}

/// Reports which instance of the stage handled the frame. A stage of the order `.any` must not depend on
/// that.
private struct Forgetful: Stage {
  static let order = Order.any
  static let plugin = Plugin("forgetful", "counts its own frames", Forgetful.self)
  struct Report: FrameReport {
    var seen: Int64 = 0
    static let fields: [ReportField<Self>] = [ReportField("seen", \.seen)]
  }
  private var writer: ReportWriter<Report>?
  private var seen: Int64 = 0
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    writer = setup.report(Report.self)
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict {
    seen += 1
    if let writer { frame.write(Report(seen: seen), writer) }
    return .keep
  }
}

private func level(_ level: UInt8, width: Int = 8) -> TestFrame {
  TestFrame(width: width, height: 4, luma: [UInt8](repeating: level, count: width * 4))
}

@Suite struct TestKitTests {
  // MARK: One frame by hand

  @Test func aStageSeesTheNeighboursThatItIsShown() throws {
    var stage = try StageUnderTest(Around(), for: level(1))
    let alone = stage.process(level(1))
    expectEqual(alone.report?.before, -1)
    expectEqual(alone.report?.after, -1)
    let between = stage.process(level(2), earlier: [level(1)], later: [level(3)])
    expectEqual(between.report?.before, 1)
    expectEqual(between.report?.after, 3)
    var told = level(2)
    told.events = [Event(kind: .stalled), Event(kind: .replugged)]
    expectEqual(stage.process(told).report?.events, 2)
    expectTrue(
      between.earlier.map { $0.luma()[0] } == [1] && between.later.map { $0.luma()[0] } == [3])
    expectEqual(between.luma(), level(2).planes[0])
    expectNil(between.seen)
    expectNil(between.picture)
  }

  /// Neighbours have their own records, and `firstDifference` supplies as many as the stage declared.
  @Test func neighboursHaveTheirRecords() throws {
    let numbers = Numbers(history: 1, lookahead: 1)
    var stage = try StageUnderTest(numbers, for: level(1))
    var frames = (0..<3).map { level(UInt8($0)) }
    for index in 0..<3 { frames[index].record.number = UInt64(40 + index) }
    let shown = stage.process(frames[1], earlier: [frames[0]], later: [frames[2]])
    expectEqual(shown.report?.first, 40)
    expectEqual(shown.report?.after, 42)
    var pictures: Set<[UInt8]> = []
    let difference = try StageUnderTest.firstDifference(of: numbers, formats: [.grey]) { shown in
      pictures.insert(shown.earlier[0].luma())
      guard shown.report?.first == 0, shown.report?.after == 2 else { return "no neighbours" }
      return shown.earlier[0].luma() == shown.luma() && shown.luma().count > 99
        && Set(shown.luma()).count > 9 ? "the same picture" : nil
    }
    expectNil(difference)
    expectGreater(pictures.count, 9)
  }

  /// The unpacked pixels equal those of the engine's unpacker.
  @Test func aStageSeesAnyFormatAsInARun() throws {
    for format in TestFrame.formats {
      let frame = TestFrame(format, width: 37, height: 19, .random)
      guard format.imageFormat?.isDeep == false else { continue }
      var stage = try StageUnderTest(Careless(), for: frame)
      let seen = try #require(stage.process(frame).seen)
      let run = try TestRun(of: TestCamera([frame]))
      let left = try #require(run.frames.first?.picture)
      expectNil(seen.difference(from: left.planes), "\(format)")
    }
  }

  @Test func mistakesAreFound() throws {
    var allocations = 0
    let difference = try StageUnderTest.firstDifference(of: Careless(), sizes: [(3, 2)]) { shown in
      allocations += shown.allocations
      guard let picture = shown.picture, let seen = shown.seen else { return "no picture" }
      return picture.difference(from: seen.planes.map { $0.map { 255 - $0 } })
    }
    expectEqual(difference?.contains("3x2, random: plane 0, row 0, byte 2: "), true)
    expectGreater(allocations, 0)
    // A stage that refuses every format must not count as equal.
    #expect(throws: StageError.self) {
      try StageUnderTest.firstDifference(of: Careless(), formats: [.y10]) { _ in nil }
    }
    let wrong = try TestRun.firstDifference(through: [StageChoice(Forgetful.plugin)]) {
      TestCamera((0..<40).map { level($0) })
    }
    expectEqual(wrong?.contains("the reports"), true)
  }

  // MARK: Whole runs

  @Test func lostFramesHaveTheirFatesAndAreNoNeighbours() throws {
    let camera = TestCamera([
      .startup(level(9)), .picture(level(1)), .damaged, .missing(2),
      .event(Event(kind: .stalled, value: 40)), .picture(level(2)), .picture(level(7)),
      .picture(level(3)),
    ])
    let stage = StageChoice(Around.plugin, of: Around.self) { $0.reject = 7 }
    let run = try TestRun(of: camera, through: [stage])
    expectEqual(
      run.frames.map(\.fate),
      [
        .startup, .delivered, .corrupt, .missing, .missing, .delivered, .rejected, .delivered,
      ])
    expectEqual(run.frames.map(\.number), Array(0..<8))
    let reports = run.reports(Around.Report.self)
    expectEqual(reports.map(\.before), [-1, -1, 7])
    expectEqual(reports.map(\.events), [0, 1, 0])
    expectEqual(run.frames[5].events.first?.value, 40)
    expectTrue(run.frames[5].picture?.planes == level(2).planes && run.frames[2].picture == nil)
    expectTrue(run.summary.ledger.isBalanced)
  }

  /// The table in docs/stages.md.
  @Test(arguments: [1, 3]) func earlierFramesAreThoseOfTheManual(workers: Int) throws {
    let camera = TestCamera([
      .picture(level(0)), .picture(level(1)), .damaged, .picture(level(3)), .missing(1),
      .picture(level(5)), .picture(level(6)), .replug(), .picture(level(7)), .picture(level(8)),
    ])
    let run = try TestRun(of: camera, through: [StageChoice(Numbers.plugin)], workers: workers)
    expectEqual(
      run.frames.map { $0.report(Numbers.Report.self)?.first },
      [
        -1, 0, nil, 1, nil, 3, 5, -1, 7,
      ])
    expectEqual(
      run.frames.map { $0.report(Numbers.Report.self)?.second },
      [
        -1, -1, nil, -1, nil, -1, 3, -1, -1,
      ])
  }

  @Test func picturesOfAnotherFormatAndReplugsBeginEpochs() throws {
    let camera = TestCamera([
      .picture(level(1)), .picture(level(2, width: 16)), .replug(), .picture(level(3, width: 16)),
    ])
    let run = try TestRun(of: camera, through: [StageChoice(Around.plugin)])
    expectEqual(run.frames.map { $0.record?.epoch }, [0, 1, 2])
    expectEqual(run.frames.map { $0.picture?.format.width }, [8, 16, 16])
    expectEqual(run.frames.map { $0.record?.isDiscontinuity }, [true, true, true])
    expectTrue(run.reports(Around.Report.self).allSatisfy { $0.before == -1 })
  }

  /// A write on frame n shows at n + delay, in the picture and as an event.
  @Test(arguments: [1, 3]) func controlsAnswer(delay: Int) throws {
    let control = ControlDescription(name: "lamp", unit: "", minimum: 0, maximum: 200)
    let camera = TestCamera(controls: [control], delay: delay) { _, value in
      value == 13 ? nil : value
    } steps: { number, values in
      number < 12 ? .picture(level(UInt8(values[0]))) : nil
    }
    let run = try TestRun(of: camera, through: [StageChoice(Lamp.plugin)])
    let levels = run.frames.map { $0.picture?.planes[0][0] }
    let dark = [UInt8?](repeating: 0, count: 2 + delay)
    expectEqual(levels, dark + [UInt8?](repeating: 100, count: 12 - dark.count))
    expectTrue(run.frames[2 + delay].events.map(\.kind).contains(.controlApplied))
    expectEqual(run.notes, ["refused 13", "applied 100"])
  }

  @Test func aRunThatFailsThrows() throws {
    #expect(throws: RunError.self) { try TestRun(of: TestCamera([TestFrame]())) }
    #expect(throws: RunError.self) { try TestFrame(jpeg: [1, 2, 3]) }
    let endless = TestCamera(steps: { _, _ in .picture(level(1)) })
    let error = #expect(throws: RunError.self) {
      try TestRun(of: endless, pictures: false, within: .milliseconds(50))
    }
    expectEqual(error?.description.contains("give it more time"), true)
  }
}

/// Its default is beyond its range.
private struct Wrong: Stage {
  static let order = Order.any
  struct Settings: KindSettings {
    var share = 1.5
    static var settings: [Setting<Self>] { [Setting("share", \.share, range: 0...1, "of light")] }
  }
  var settings = Settings()
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
}

@Suite struct WrongDeclarationTests {
  @Test func aStageThatIsDeclaredWronglyIsNeitherShownNorRun() {
    let sentence = "the stage Wrong: share=1.5 is not allowed: give 0 to 1"
    let frame = level(1)
    let shown = #expect(throws: RunError.self) { try StageUnderTest(Wrong(), for: frame) }
    expectEqual(shown?.description, "the default of \(sentence)")
    let wrong = StageChoice(Plugin("Wrong", "is wrong", Wrong.self))
    let run = #expect(throws: RunError.self) {
      try TestRun(of: TestCamera([frame]), through: [wrong])
    }
    expectEqual(run?.description, "the default of \(sentence)")
  }
}

/// Switches a lamp on at its third frame, and reports the completion events.
private struct Lamp: Stage {
  static let order = Order.sequence
  static let plugin = Plugin("lamp", "switches a lamp on", Lamp.self)
  private var port: ControlPort?
  private(set) var notes: [String] = []
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    port = try setup.steers()
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict {
    for index in 0..<frame.eventCount {
      let event = frame.event(index)
      notes.append("\(event.kind == .controlRefused ? "refused" : "applied") \(Int(event.value))")
    }
    if frame.record.number == 2 {
      _ = port?.write(0, 13)
      _ = port?.write(0, 100)
    }
    return .keep
  }
}
