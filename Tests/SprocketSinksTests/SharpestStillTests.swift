import Foundation
import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSinks

@Suite struct SharpestStillTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func record(_ number: UInt64, _ milliseconds: Int64, epoch: UInt32 = 0) -> FrameRecord {
    var record = FrameRecord()
    (record.number, record.epoch) = (number, epoch)
    record.captured = Timestamp(nanoseconds: milliseconds * 1_000_000, clock: .media)
    return record
  }

  /// The first frame of the highest score in each second since its epoch's first frame; the first frame where
  /// none has a score.
  private func sharpest(_ frames: [(record: FrameRecord, score: Double?)]) -> [UInt64] {
    var periods: [[(record: FrameRecord, score: Double?)]] = []
    var (epoch, start, last): (UInt32?, Int64, Int64) = (nil, 0, 0)
    for frame in frames {
      let time = frame.record.captured.nanoseconds
      let isNewEpoch = frame.record.epoch != epoch
      if isNewEpoch { (epoch, start) = (frame.record.epoch, time) }
      let period = (time - start) / 1_000_000_000
      if isNewEpoch || period > last { periods.append([]) }
      last = period
      periods[periods.count - 1].append(frame)
    }
    return periods.map { period in
      let best = period.compactMap { $0.score }.filter { !$0.isNaN }.max()
      return (period.first { $0.score == best && best != nil } ?? period[0]).record.number
    }
  }

  @Test func theLatestSelectedFrameOfAPeriodIsTheSharpest() {
    for seed in UInt64(1)...200 {
      var random = TestRandom(seed: seed)
      var frames: [(record: FrameRecord, score: Double?)] = []
      var (time, epoch): (Int64, UInt32) = (77, 0)
      for number in UInt64(0)..<200 {
        if Int.random(in: 0..<60, using: &random) == 0 { epoch += 1 }
        time += Int64.random(in: 1...(Bool.random(using: &random) ? 2500 : 120), using: &random)
        let score: Double? =
          switch Int.random(in: 0..<4, using: &random) {
          case 0: nil
          case 1: .nan
          default: Double(Int.random(in: 0..<8, using: &random))
          }
        frames.append((record(number, time, epoch: epoch), score))
      }
      let selector = SharpestSelector(.seconds(1))
      var found: [UInt64] = []
      for (record, score) in frames where selector.selects(record, score: score) {
        if !selector.starts.take(upTo: record.number), !found.isEmpty { found.removeLast() }
        found.append(record.number)
      }
      expectEqual(found, sharpest(frames), "seed \(seed)")
    }
  }

  private func begun() throws(RunError) -> StillSink {
    let sink = StillSink(path: scratch.path("s"), sharpestOf: .seconds(1))
    var setup = SinkSetup.test(StillSinkTests.format, reports: [Self.layout])
    try sink.configure(&setup)
    return sink
  }

  private static let layout = ReportLayout(
    plugin: "focus", FocusReport.self, fields: [], slot: ReportSlot(offset: 0, bit: 1))

  private var names: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: scratch.path("s")).sorted()
    }
  }

  /// Lets the sink's selector choose, as the engine does.
  private func show(_ sink: StillSink, _ number: UInt64, _ seconds: Double, score: Double) throws {
    let frame = StillSinkTests.frame(number, seconds, byte: UInt8(number))
    let selector = try #require(
      (sink.makeSelector() as? StillSelector)?.course.chosen as? SharpestSelector)
    if selector.selects(frame.record, score: score) { try frame.write(to: sink) }
  }

  @Test func aStillIsWrittenWhenItsPeriodIsOver() throws {
    let sink = try begun()
    try show(sink, 0, 0, score: 1)
    try show(sink, 1, 0.3, score: 5)
    try show(sink, 2, 0.6, score: 3)
    expectEqual(sink.replacedCount, 1)
    expectEqual(sink.durableCount, 0)
    try expectEqual(names, [])
    try show(sink, 3, 1.0, score: 2)
    try expectEqual(names, ["still-00000001.jpg"])
    expectEqual(sink.replacedCount, 1)
    expectEqual(sink.durableCount, 1)
    try show(sink, 7, 1.9, score: 4)
    try sink.finish()
    expectEqual(sink.replacedCount, 2)
    expectEqual(sink.durableCount, 2)
    try expectEqual(names, ["still-00000001.jpg", "still-00000007.jpg"])
    let bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.path("s/still-00000007.jpg")))
    expectEqual(Array(bytes), [UInt8](repeating: 7, count: 98))
  }

  @Test func aStillThatCannotBeWrittenEndsTheStills() throws {
    let sink = try begun()
    try show(sink, 0, 0, score: 1)
    try FileManager.default.removeItem(atPath: scratch.path("s"))
    #expect(throws: RunError.self) { try show(sink, 1, 1, score: 1) }
    expectEqual(sink.durableCount, 0)
    expectEqual(sink.replacedCount, 0)
    try sink.finish()
    expectEqual(sink.durableCount, 0)
  }

  @Test func withoutTheStageFocusItIsRefused() {
    let sink = StillSink(path: scratch.path("s"), sharpestOf: .seconds(1))
    var setup = SinkSetup.test(StillSinkTests.format)
    let error = #expect(throws: RunError.self) { try sink.configure(&setup) }
    expectEqual(error?.description.contains("the stage focus, which is not in the chain"), true)
  }
}
