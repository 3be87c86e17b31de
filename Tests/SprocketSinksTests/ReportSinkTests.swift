import CSprocketAllocations
import Foundation
import SprocketCore
import SprocketSinks
import TestExpectations
import TestSupport
import Testing

struct Sample: FrameReport {
  var mean = 0.0
  var ratio: Float = 0
  var count: Int64 = 0
  var level: UInt32 = 0
  var isSharp = false

  static var fields: [ReportField<Sample>] {
    [
      .init("mean", \.mean), .init("ratio", \.ratio), .init("count", \.count),
      .init("level", \.level), .init("sharp", \.isSharp),
    ]
  }
}

struct Levels: FrameReport {
  var levels = LevelCounts(repeating: 0)

  static var fields: [ReportField<Levels>] { [.init("levels", \.levels)] }
}

struct Weather: FrameReport {
  enum Sky: String, ReportWords {
    case clear
    case overcast = "over\"cast"
  }
  var sky = Sky.clear
  var wind: Int64 = 0

  static var fields: [ReportField<Weather>] { [.init("sky", \.sky), .init("wind", \.wind)] }
}

extension ReportLayout {
  init<Report: FrameReport>(_ plugin: String, _ report: Report.Type, offset: Int, bit: UInt64) {
    self.init(
      plugin: plugin, report, fields: Report.fields.map(\.description),
      slot: ReportSlot(offset: offset, bit: bit))
  }
}

@Suite struct ReportSinkTests {
  static let format = FrameFormat(
    pixelFormat: .grey, width: 4, height: 2, color: .jpeg, rate: FrameRate(frames: 30))
  static let meter = ReportLayout("meter", Sample.self, offset: 0, bit: 1)
  static let focus = ReportLayout("fo\"cus", Sample.self, offset: 64, bit: 2)
  static let levels = ReportLayout("meter", Levels.self, offset: 128, bit: 4)
  static let weather = ReportLayout("weather", Weather.self, offset: 1200, bit: 8)

  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  func sink(reports: [ReportLayout] = [], stages: [String] = []) throws -> ReportSink {
    let sink = ReportSink(path: scratch.path("r.jsonl"))
    var setup = SinkSetup.test(Self.format, reports: reports, stages: stages)
    try sink.configure(&setup)
    expectTrue(setup.parts.isEmpty)
    return sink
  }

  @Test func writesADeliveredFrameByteForByte() throws {
    let sink = try sink(reports: [Self.meter, Self.focus])
    let frame = SinkFrame(Self.format)
    frame.record.sequence = 7
    frame.record.epoch = 2
    frame.record.captured = Timestamp(nanoseconds: 1_000_000, clock: .monotonic)
    frame.record.processed = 3_234_567
    frame.store(
      Sample(mean: 117.25, ratio: 0.5, count: -12, level: .max, isSharp: true), at: Self.meter)
    try frame.write(to: sink)
    try sink.finish()
    let expected =
      #"{"sequence":7,"epoch":2,"captured_ns":1000000,"clock":"monotonic","fate":"delivered","#
      + #""latency_us":2234.567,"meter":{"mean":117.25,"ratio":0.5,"count":-12,"#
      + #""level":4294967295,"sharp":true}}"# + "\n"
    try expectEqual(scratch.text("r.jsonl"), expected)
  }

  @Test func writesLostFramesWithWhatIsKnown() throws {
    let sink = try sink(reports: [Self.meter], stages: ["latedrop", "meter"])
    try sink.account(LostFrame(number: 0, sequence: 5, epoch: 0, fate: .missing))
    let frame = SinkFrame(Self.format)
    frame.record.captured = Timestamp(nanoseconds: 40, clock: .media)
    try frame.account(LostFrame(number: 1, sequence: 6, epoch: 0, fate: .late), to: sink)
    try sink.finish()
    let expected =
      #"{"sequence":5,"epoch":0,"captured_ns":null,"clock":null,"fate":"missing","#
      + #""latency_us":null}"# + "\n"
      + #"{"sequence":6,"epoch":0,"captured_ns":40,"clock":"media","fate":"late","#
      + #""latency_us":null,"stage":"latedrop"}"# + "\n"
    try expectEqual(scratch.text("r.jsonl"), expected)
  }

  @Test func keepsTheReportsAndEventsOfARejectedFrame() throws {
    let sink = try sink(reports: [Self.meter], stages: ["latedrop", "meter"])
    let frame = SinkFrame(Self.format)
    frame.record.droppedBy = 1
    frame.store(Sample(mean: 1), at: Self.meter)
    frame.add(Event(kind: .replugged))
    let lost = LostFrame(number: 1, sequence: 6, epoch: 0, fate: .rejected)
    try frame.account(lost, to: sink)
    try sink.finish()
    let text = try scratch.text("r.jsonl")
    expectTrue(text.contains(#""stage":"meter","meter":{"mean":1,"#))
    expectTrue(text.hasSuffix(#","events":[{"kind":"replugged"}]}"# + "\n"))
  }

  @Test func tellsTheEventsOfAFrameThatNeverCame() throws {
    let sink = try sink()
    var lost = LostFrame(number: 1, sequence: 6, epoch: 0, fate: .behind)
    lost.events = [Event(kind: .replugged, value: 1), Event(kind: .stalled, value: 2)]
    try sink.account(lost)
    try sink.finish()
    try expectTrue(
      scratch.text("r.jsonl").hasSuffix(
        #","events":[{"kind":"replugged","wait_us":1000},{"kind":"stalled","wait_us":2000}]}"#
          + "\n"))
  }

  @Test func measuresLatencyFromTheHandOverWhereCaptureHasAnotherClock() throws {
    let sink = try sink()
    let frame = SinkFrame(Self.format)
    frame.record.captured = Timestamp(nanoseconds: 1, clock: .media)
    frame.record.dequeued = 9_000_000
    frame.record.processed = 9_000_042
    try frame.write(to: sink)
    try sink.finish()
    try expectTrue(scratch.text("r.jsonl").contains(#""latency_us":0.042"#))
  }

  @Test func pythonReadsEveryLineAndEveryKind() throws {
    let sink = try sink(reports: [Self.meter, Self.focus, Self.levels, Self.weather])
    let frame = SinkFrame(Self.format)
    frame.record.inForce.exposureMicroseconds = 16666.67
    frame.record.inForce.gain = 0.1
    frame.record.inForce.lensPosition = 1
    frame.store(Sample(mean: .pi * 1e-9, ratio: .infinity, count: .min), at: Self.meter)
    frame.store(Sample(mean: .nan, ratio: 0.1), at: Self.focus)
    var levels = Levels()
    for index in 0..<256 { levels.levels[index] = UInt32(index * index) }
    frame.store(levels, at: Self.levels)
    frame.store(Weather(sky: .overcast, wind: 3), at: Self.weather)
    frame.add(Event(kind: .controlApplied, control: 3, ticket: 4, value: 0.25))
    frame.add(Event(kind: .stalled, value: 12.5))
    try frame.write(to: sink)
    try sink.finish()
    let program = """
      import json, math, sys
      line, = [json.loads(line) for line in open(sys.argv[1])]
      meter = line["meter"]
      assert abs(meter["mean"] / (math.pi * 1e-9) - 1) < 1e-11
      assert meter["ratio"] is None and meter["count"] == -2**63 and meter["sharp"] is False
      assert meter["levels"] == [i * i for i in range(256)]
      assert line['fo"cus']["mean"] is None and abs(line['fo"cus']["ratio"] - 0.1) < 1e-8
      assert line["weather"] == {"sky": "over\\"cast", "wind": 3}
      assert line["exposure_us"] == 16666.67 and line["gain"] == 0.1 and line["lens"] == 1
      assert line["events"] == [
        {"kind": "control_applied", "control": 3, "ticket": 4, "value": 0.25},
        {"kind": "stalled", "wait_us": 12500}]
      print(",".join(line))
      """
    let keys = try Tool.run("python3", ["-c", program, scratch.path("r.jsonl")])
    expectEqual(
      String(decoding: keys, as: UTF8.self),
      "sequence,epoch,captured_ns,clock,fate,latency_us,exposure_us,gain,lens,meter,"
        + "fo\"cus,weather,events\n")
  }

  @Test func liveLinesAreThereAtOnce() throws {
    let sink = ReportSink(path: scratch.path("live.jsonl"))
    var setup = SinkSetup.test(Self.format, isLive: true)
    try sink.configure(&setup)
    try SinkFrame(Self.format).write(to: sink)
    try expectTrue(scratch.text("live.partial.jsonl").hasSuffix("}\n"))
    try sink.finish()
    try expectTrue(scratch.text("live.jsonl").hasSuffix("}\n"))
  }

  @Test func goesOnInTheSameFileAfterAnEpoch() throws {
    let sink = try sink(reports: [Self.meter])
    try SinkFrame(Self.format).write(to: sink)
    var setup = SinkSetup.test(Self.format, reports: [Self.focus])
    try sink.configure(&setup)
    let frame = SinkFrame(Self.format)
    frame.store(Sample(), at: Self.focus)
    try frame.write(to: sink)
    try sink.finish()
    let lines = try scratch.text("r.jsonl").split(separator: "\n")
    expectTrue(lines.count == 2 && lines[1].contains(#""fo\"cus":{"#))
  }

  @Test func losesNoLineOfManyBuffers() throws {
    let sink = try sink()
    for index in 0..<3000 {
      let lost = LostFrame(
        number: UInt64(index), sequence: UInt64(index), epoch: 0, fate: .overrun)
      try sink.account(lost)
    }
    try sink.finish()
    let lines = try scratch.text("r.jsonl").split(separator: "\n")
    try #require(lines.count == 3000)
    expectTrue(
      lines.enumerated().allSatisfy { index, line in
        line == #"{"sequence":\#(index),"epoch":0,"captured_ns":null,"clock":null,"#
          + #""fate":"overrun","latency_us":null}"#
      })
  }

  @Test func allocatesNothingPerLine() throws {
    let sink = try sink(reports: [Self.meter, Self.focus, Self.levels], stages: ["meter"])
    let frame = SinkFrame(Self.format)
    frame.record.inForce.gain = 1.5
    frame.store(Sample(mean: 1 / 3), at: Self.meter)
    frame.store(Levels(), at: Self.levels)
    frame.add(Event(kind: .stalled, value: 1))
    let lost = LostFrame(number: 0, sequence: 0, epoch: 0, fate: .late)
    try frame.write(to: sink)
    try frame.account(lost, to: sink)
    let before = sprocket_allocation_count()
    for _ in 0..<1000 {
      try frame.write(to: sink)
      try sink.account(lost)
      try frame.account(lost, to: sink)
    }
    let after = sprocket_allocation_count()
    expectEqual(after - before, 0)
    try sink.finish()
  }
}
