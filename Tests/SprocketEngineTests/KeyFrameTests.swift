import SprocketCore
import TestExpectations
import Testing

@testable import SprocketEngine

/// Sinks whose frames need those before them, with a key frame every ten frames.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct KeyFrameTests {
  private static let period: UInt64 = 10

  private static func recorder() -> MemoryRecorder {
    let sink = MemoryRecorder()
    sink.needsEarlierFrames = true
    return sink
  }

  private static func record(
    _ sink: MemoryRecorder, _ steps: [ScriptedSource.Step], _ asker: Asker = Asker()
  ) throws -> [RecordingRecord] {
    let result = try run(
      asker, steps, sinks: [sink], tick: 1_000_000, workers: 1, keyEvery: period)
    expectEqual(result.summary.ledger.unbalanced, [])
    for record in result.records {
      let end = try #require(record.end)
      expectEqual(record.counts.sum, end - (try #require(record.begin)))
    }
    return result.records
  }

  @Test func behindALostFrameASinkWaitsForAKeyFrame() throws {
    let (needing, other) = (RecordingSink("needing"), RecordingSink("other"))
    needing.needsEarlierFrames = true
    let source = ScriptedSource(
      (0..<60).map { .frame(sequence: $0, corrupt: $0 == 13 || $0 == 30) } + [
        .frame(sequence: 75), .frame(sequence: 80), .frame(sequence: 81),
      ])
    source.isKey = { $0 % Self.period == 0 }
    let summary = try run(source, [], sinks: [needing, other])
    expectEqual(summary.ledger.unbalanced, [])
    expectEqual(
      needing.lines.filter { $0.fate == .delivered }.map(\.sequence),
      Array(0..<13) + Array(20..<30) + Array(40..<60) + [80, 81])
    expectEqual(
      needing.lines.filter { $0.fate == .unselected }.map(\.sequence),
      Array(14..<20) + Array(31..<40) + [75])
    expectEqual(other.lines.filter { $0.fate == .delivered }.count, 61)
    expectTrue(source.keyFrames.take(), "nobody asked the source for a key frame")
  }

  /// It also has as many frames as were asked for.
  @Test func aRecordingBeginsWithAKeyFrame() throws {
    let (sink, asker) = (Self.recorder(), Asker())
    let records = try Self.record(
      sink,
      .frames(0..<15) + [.call { asker.ask(.record(sink: "movie", frames: 12)) }] + .frames(15..<45)
        + [.call { asker.ask(.record(sink: "movie")) }] + .frames(45..<63)
        + [.call { asker.stop() }] + .frames(63..<70), asker)
    expectEqual(sink.contents, [Array(20..<32), Array(50..<63)])
    expectEqual(records.map { $0.counts[.unselected] }, [5, 5])
  }

  @Test func aPreRollBeginsWithTheKeyFrameBeforeIt() throws {
    for (asked, first) in [(UInt64(25), UInt64(10)), (32, 20), (40, 20), (8, 0)] {
      let (sink, asker) = (Self.recorder(), Asker())
      sink.preRoll = PreRoll(.milliseconds(12))
      _ = try Self.record(
        sink,
        .frames(0..<asked) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(asked..<60),
        asker)
      expectEqual(sink.contents, [Array(first..<60)], "asked at \(asked)")
    }
  }

  /// The memory holds 15 frames: those behind the last key frame that is kept.
  @Test func aPreRollWithoutMemoryBeginsWithAKeyFrame() throws {
    let (sink, asker) = (Self.recorder(), Asker())
    sink.preRoll = PreRoll(.milliseconds(30), bytes: 1500)
    _ = try Self.record(
      sink, .frames(0..<38) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(38..<60),
      asker)
    expectEqual(sink.contents, [Array(30..<60)])
  }

  /// Frames that wait in the chain do not close the gate, and then all frames need a key frame.
  @Test func aRecordingThatCountsGetsAllFramesMeanwhile() {
    var gate = OutputGate()
    gate.isOfStream = true
    let id = RecordingID(1)
    _ = gate.apply(.begin(id, frames: 2))
    for _ in 0..<20 { expectNil(gate.countPublished()) }
    expectTrue(gate.isAdmitting)
    _ = gate.apply(.ended(id))
    expectFalse(gate.isAdmitting)
  }

  @Test func filesBeginWithKeyFramesAndNoFrameIsBetweenThem() throws {
    let (sink, asker) = (Self.recorder(), Asker())
    _ = try Self.record(
      sink,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<25)
        + [.call { asker.ask(.next(asker.ids[0])) }] + .frames(25..<40)
        + [.call { asker.ask(.next(asker.ids[0])) }] + .frames(40..<48)
        + [.call { asker.ask(.next(asker.ids[0])) }, .call { asker.stop() }] + .frames(48..<60),
      asker)
    expectEqual(sink.contents, [Array(0..<30), Array(30..<40), Array(40..<48)])
    let limited = Self.recorder()
    limited.limits.fileDuration = .milliseconds(12)
    let second = Asker()
    _ = try Self.record(
      limited, [.call { second.ask(.record(sink: "movie")) }] + .frames(0..<65), second)
    expectEqual(
      limited.contents, [Array(0..<20), Array(20..<40), Array(40..<60), Array(60..<65)])
  }
}
