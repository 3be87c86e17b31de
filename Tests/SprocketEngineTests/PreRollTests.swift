import SprocketCore
import TestExpectations
import Testing

@testable import SprocketEngine

@Suite(.serialized, .timeLimit(.minutes(3)))
struct PreRollTests {
  /// end() removes the next recording, if writing the history ended the first.
  @Test func stopOfARecordingThatThePreRollFills() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.preRoll = PreRoll(.milliseconds(10))
    let result = try run(
      asker,
      .frames(0..<50) + [
        .call {
          asker.ask(
            .record(sink: "movie", frames: 3), .record(sink: "movie", frames: 30))
          asker.ask(.stop(asker.ids[0]))
        }
      ] + .frames(50..<100) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(100..<120)
        + [.call { asker.stop() }] + .frames(120..<130),
      sinks: [sink], tick: 1_000_000)
    expectEqual(sink.contents.map(\.count), [3, 30, 20 + 10])
    expectFalse(result.records.contains { $0.reason == .refused })
  }

  /// While the recording catches up, a frame comes that is larger than the memory.
  @Test func aFrameLargerThanTheMemoryCostsNoOther() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.preRoll = PreRoll(.milliseconds(30), bytes: 1000)
    sink.heldBytes = { $0 == 10 ? 5000 : 100 }
    let result = try run(
      asker,
      .frames(0..<10) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(10..<20)
        + [.call { asker.stop() }] + .frames(20..<25), sinks: [sink], tick: 1_000_000)
    expectEqual(sink.contents, [Array(0..<20)])
    let record = try #require(result.records.first)
    expectEqual(record.counts[.delivered], 20)
    expectEqual(record.counts.sum, 20)
    expectFalse(sink.isTorn)
  }

  @Test func lostFramesDoNotGrowTheHistory() throws {
    let history = try PacketHistory(PreRoll(.milliseconds(10), bytes: 1 << 20))
    var record = FrameRecord()
    record.captured = Timestamp(nanoseconds: 0, clock: .monotonic)
    _ = history.add(record, [UInt8](repeating: 1, count: 100).span)
    var dropped: UInt64 = 0
    for number in UInt64(1)...200_000 {
      dropped += history.addLost(
        LostFrame(number: number, sequence: number, epoch: 0, fate: .corrupt))
    }
    expectEqual(dropped, 1)
    var count = 0
    while history.removeOldest() != nil { count += 1 }
    expectAtMost(count, 1 << 16)
  }

  /// A run whose source delivers nothing but damage.
  @Test func aRunOfCorruptFramesDoesNotGrow() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.preRoll = PreRoll(.milliseconds(10))
    let steps: [ScriptedSource.Step] =
      .frames(0..<5)
      + (UInt64(5)..<60_005).map { .frame(sequence: $0, corrupt: true) }
      + [.call { asker.ask(.record(sink: "movie")) }] + .frames(60_005..<60_010)
    let result = try run(asker, steps, sinks: [sink], tick: 1_000_000)
    let record = try #require(result.records.first)
    expectAtMost(record.counts[.corrupt], 20)
  }

  @Test func theNoteOfAShortPreRollIsTrue() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    // 3 s of slack; memory for 40 frames; the pre-roll of 10 is whole.
    sink.preRoll = PreRoll(.milliseconds(10), slack: .seconds(3), bytes: 4000)
    let result = try run(
      asker,
      .frames(0..<100) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(100..<110),
      sinks: [sink], tick: 1_000_000)
    expectEqual(sink.contents.first?.first, 90)
    expectFalse(result.summary.notes.contains { $0.contains("shorter than asked") })
  }

  /// Frames of all sizes, by chance: what is kept is what was added last, byte for byte.
  @Test func keptBytesAreNeverOverwritten() throws {
    var random = TestRandom(seed: 1)
    for bytes in [5000, 20_000, 100_000] {
      let history = try PacketHistory(PreRoll(.milliseconds(50), bytes: bytes))
      var record = FrameRecord()
      for number in UInt64(0)..<3000 {
        record.number = number
        record.captured = Timestamp(nanoseconds: Int64(number) * 1_000_000, clock: .monotonic)
        let count = random.below(bytes / (number % 7 == 0 ? 1 : 20) + 1)
        _ = history.add(
          record, [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: count).span)
        if random.chance(10) {
          _ = history.addLost(LostFrame(number: number, sequence: 0, epoch: 0, fate: .late))
        }
        expectAtMost(history.keptBytes, bytes)
        if number % 500 == 499 {
          while let entry = history.removeOldest() {
            history.withBytes(of: entry) { kept in
              for index in kept.indices
              where kept[index] != UInt8(truncatingIfNeeded: entry.record.number) {
                Issue.record("frame \(entry.record.number) was overwritten")
                return
              }
            }
          }
        }
      }
    }
  }

  @Test func theClockStepsBackWithinThePreRoll() throws {
    let history = try PacketHistory(PreRoll(.milliseconds(10), bytes: 1 << 20))
    var record = FrameRecord()
    for n in UInt64(0)..<200 {
      record.number = n
      record.captured = Timestamp(
        nanoseconds: Int64(n < 100 ? 3_600_000 + n : n) * 1_000_000, clock: .monotonic)
      _ = history.add(record, [UInt8](repeating: 1, count: 100).span)
    }
    expectLess(history.keptBytes / 100, 30)
  }

  @Test func whatASlowPreRollMissesIsBehind() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.preRoll = PreRoll(.seconds(10))
    sink.heldDelay = { $0 == 20 ? 600_000 : 0 }
    var steps: [ScriptedSource.Step] = []
    for n in UInt64(0)..<200 {
      steps.append(.frame(sequence: n))
      steps.append(.pause(nanoseconds: 4_000_000))
    }
    steps.append(.call { asker.ask(.record(sink: "movie")) })
    steps += .frames(200..<202)
    let result = try run(asker, steps, sinks: [sink], isLive: true)
    let record = try #require(result.records.first)
    expectEqual(record.counts[.unselected], 0)
  }

  /// A slow disk must not hold up the frames that arrive for as long as the pre-roll takes.
  @Test func aFewKeptFramesAreWrittenAtATime() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.preRoll = PreRoll(.seconds(10))
    sink.writeDelay = { _ in 5000 }
    try run(
      asker,
      .frames(0..<40) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(40..<120)
        + [.call { asker.stop() }] + .frames(120..<130), sinks: [sink], tick: 1_000_000)
    expectEqual(sink.contents, [Array(0..<120)])
    expectEqual(sink.mostWritesInARow, 2)
  }
}
