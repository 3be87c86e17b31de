import Glibc
import SprocketCore
import SprocketEngine
import TestExpectations
import Testing

/// Compares each frame with those around it, and says how many were as they should be.
struct LookAround: Stage {
  struct Report: FrameReport {
    var earlier: UInt32 = 0
    var later: UInt32 = 0
    var wrong: UInt32 = 0
    static var fields: [ReportField<Report>] {
      [
        .init("earlier", \.earlier), .init("later", \.later), .init("wrong", \.wrong),
      ]
    }
  }
  static let order = Order.any
  static let history = 4
  static let lookahead = 3
  var writer: ReportWriter<Report>?

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.full))
    setup.readsHistory(Self.history)
    setup.readsAhead(Self.lookahead)
    writer = setup.report(Report.self)
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    var report = Report()
    let own = frame.luma()[row: 0][0]
    let number = frame.record.number
    usleep(UInt32(number % 60))
    for index in 0..<frame.earlierCount {
      guard let other = frame.earlier(index) else { continue }
      report.earlier += 1
      let distance = UInt8(truncatingIfNeeded: number - other.record.number)
      let row = other.luma()[row: 3]
      for x in row.indices where row[x] &+ distance != own { report.wrong += 1 }
    }
    for index in 0..<frame.laterCount {
      guard let other = frame.later(index) else { continue }
      report.later += 1
      let distance = UInt8(truncatingIfNeeded: other.record.number - number)
      if own &+ distance != other.luma()[row: 0][0] { report.wrong += 1 }
    }
    if let writer { frame.write(report, writer) }
    return .keep
  }
  static let plugin = Plugin("around", "looks at the frames around", LookAround.self)
}

/// Keeps what `LookAround` said.
///
/// Unchecked: the engine uses it on one thread at a time, and tests look after the run.
final class AroundSink: Sink, @unchecked Sendable {
  let name = "around"
  var layout: ReportLayout?
  var seen: [(number: UInt64, earlier: UInt32, later: UInt32, wrong: UInt32)] = []

  func configure(_ setup: inout SinkSetup) throws(RunError) { layout = setup.reports.first }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    guard let layout else { return }
    func value(_ index: Int) -> UInt32 {
      frame.value(layout.fields[index], of: layout, as: UInt32.self) ?? 999
    }
    seen.append((frame.record.number, value(0), value(1), value(2)))
  }
}

@Suite struct NeighbourTests {
  @Test(arguments: [1, 2, 4], [false, true])
  func r4FramesAroundAreSeenAsTheLaneBeforeSealedThem(workers: Int, lends: Bool) throws {
    // AddOne writes "in place" after LookAround: it must not touch what LookAround still reads.
    let sink = AroundSink()
    _ = try run(
      ScriptedSource(frames: 2_000, lends: lends), [LookAround.plugin, AddOne.plugin],
      sinks: [sink], workers: workers)
    expectEqual(sink.seen.count, 2_000)
    expectTrue(sink.seen.allSatisfy { $0.wrong == 0 })
    for (index, line) in sink.seen.enumerated() {
      expectEqual(line.earlier, UInt32(min(index, LookAround.history)))
      expectEqual(line.later, UInt32(min(1_999 - index, LookAround.lookahead)))
    }
  }

  @Test func r4WhatAnEarlierWriterMadeIsWhatALaterStageSees() throws {
    let sink = AroundSink()
    let record = RecordingSink()
    _ = try run(
      ScriptedSource(frames: 500), [AddOne.plugin, LookAround.plugin], sinks: [sink, record])
    expectTrue(sink.seen.allSatisfy { $0.wrong == 0 })
    expectTrue(record.lines.allSatisfy { $0.byte == UInt8(truncatingIfNeeded: $0.number + 1) })
  }

  @Test func r4DroppedAndCorruptFramesAreNotNeighbours() throws {
    let sink = AroundSink()
    _ = try run(
      ScriptedSource(frames: 300), [RejectThirds.plugin, LookAround.plugin], sinks: [sink])
    expectEqual(sink.seen.count, 200)
    expectTrue(sink.seen.allSatisfy { $0.wrong == 0 })
    // Of the four before a frame, one or two were rejected.
    expectTrue(sink.seen.dropFirst(6).allSatisfy { (2...3).contains($0.earlier) })
  }

  @Test func r9NeighboursNeverCrossAnEpoch() throws {
    let sink = AroundSink()
    let steps: [ScriptedSource.Step] =
      (0..<10).map { .frame(sequence: UInt64($0)) } + [.epoch(width: 16)]
      + (0..<10).map { .frame(sequence: UInt64($0)) }
    _ = try run(ScriptedSource(steps), [LookAround.plugin], sinks: [sink])
    expectEqual(sink.seen[10].earlier, 0)
    expectEqual(sink.seen[9].later, 0)
    expectTrue(sink.seen.allSatisfy { $0.wrong == 0 })
  }
}

@Suite struct PlanTests {
  @Test func r6DepthIsASumWithALinePerHolder() throws {
    let summary = try run(
      ScriptedSource(frames: 10), [Jitter.plugin, LookAround.plugin, RejectThirds.plugin],
      sinks: [RecordingSink()], workers: 3)
    // Unpacking shares the lane of `jitter`; `around` looks around, so it begins a lane of its own.
    expectEqual(summary.lanes.map(\.steps), [["jitter", "unpack"], ["around"], ["thirds"]])
    let lines = Dictionary(uniqueKeysWithValues: summary.depth.map { ($0.holder, $0.frames) })
    expectEqual(lines["source"], 2)
    expectEqual(lines["lane 1, history"], LookAround.history)
    expectEqual(lines["lane 1, look-ahead"], LookAround.lookahead)
    expectEqual(summary.lookahead, LookAround.lookahead)
    expectAtLeast(summary.depth.reduce(0) { $0 + $1.frames }, 2 + 3 + 3 + 7 + 1)
  }

  @Test func stagesBeforeTheFirstThatReadsPixelsComeBeforeUnpacking() throws {
    let summary = try run(
      ScriptedSource(frames: 10), [RejectThirds.plugin, AddOne.plugin], sinks: [RecordingSink()])
    expectEqual(summary.lanes.map(\.steps), [["thirds"], ["unpack", "addone"]])
  }
}
