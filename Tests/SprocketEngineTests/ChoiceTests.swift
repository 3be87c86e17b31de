import SprocketCore
import TestExpectations
import Testing

@testable import SprocketEngine

/// Recordings of one frame that is chosen by its time.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ChoiceTests {
  /// Nanoseconds from frame to frame.
  private static let tick: Int64 = 10_000_000

  private struct Ask {
    let time: Int64
    let rule: FrameChoice.Rule
  }

  private static func recorder(_ bytes: Int = 1 << 20) -> MemoryRecorder {
    let sink = MemoryRecorder("stills")
    sink.preRoll = PreRoll(.milliseconds(300), bytes: bytes)
    sink.preRoll?.use = .choices
    return sink
  }

  private static func time(_ nanoseconds: Int64) -> Moment {
    .captured(Timestamp(nanoseconds: nanoseconds, clock: .monotonic))
  }

  private static func choice(_ rule: FrameChoice.Rule, ago: Duration = .zero) -> Request {
    .choose(sink: "stills", FrameChoice(rule, ago: ago))
  }

  /// The frame that is right, of those that have no damage.
  private static func right(_ ask: Ask, _ frames: [UInt64]) -> UInt64? {
    let before = frames.last { Int64($0) * tick <= ask.time }
    let after = frames.first { Int64($0) * tick >= ask.time }
    switch ask.rule {
    case .atOrBefore: return before
    case .atOrAfter: return after
    case .nearest:
      guard let before, let after else { return before }
      return Int64(after) * tick - ask.time < ask.time - Int64(before) * tick ? after : before
    }
  }

  /// What was asked, and the records so far: a run keeps the latest 1,024.
  private final class Log: Sendable {
    struct State {
      var asks: [Ask] = []
      var records: [RecordingRecord] = []
      var seen = 0
    }

    let state = Locked(State())

    /// Takes new records. Returns how many recordings have not ended.
    func take(from engine: Engine?) -> Int {
      state.withLock { state in
        if let ended = engine?.endedRecordings(after: state.seen) {
          state.seen = ended.count
          state.records += ended.records
        }
        return state.asks.count - state.seen
      }
    }
  }

  /// Frames, with four asks before each of 2,500 of them: of times up to the pre-roll in the past, and two
  /// frames ahead. Also returns the frames that have no damage.
  private static func script(
    _ asker: Asker, _ log: Log, isDamaged: Bool
  ) -> (steps: [ScriptedSource.Step], frames: [UInt64]) {
    var random = TestRandom(seed: 23)
    var (steps, frames): ([ScriptedSource.Step], [UInt64]) = ([], [])
    var sequence: UInt64 = 0
    for place in 0..<2600 {
      let isCorrupt = isDamaged && random.chance(5)
      if !isCorrupt { frames.append(sequence) }
      steps.append(.frame(sequence: sequence, corrupt: isCorrupt))
      if 60..<2560 ~= place {
        let now = Int64(sequence) * tick
        let asks = (0..<4).map { _ in
          Ask(
            time: now + Int64(random.below(320_000_000)) - 300_000_000,
            rule: FrameChoice.Rule.allCases[random.below(3)])
        }
        steps.append(
          .call {
            for ask in asks { asker.ask(choice(ask.rule), at: time(ask.time)) }
            log.state.withLock { $0.asks += asks }
            // Files are completed beside the run: not more than there are places for.
            expectTrue(waitUntil { log.take(from: asker.engine) < 40 })
          })
      }
      sequence += isDamaged && random.chance(10) ? 2 : 1
    }
    return (steps, frames)
  }

  /// Truth is what the script of frames says.
  @Test(arguments: [false, true])
  func a23TenThousandMomentsAreTheRightFrames(isDamaged: Bool) throws {
    let (asker, sink, log) = (Asker(), Self.recorder(), Log())
    let (steps, frames) = Self.script(asker, log, isDamaged: isDamaged)
    let result = try run(
      asker, steps, sinks: [sink], tick: Self.tick,
      after: { _ = log.take(from: asker.engine) })
    let (asks, records) = log.state.withLock { ($0.asks, $0.records) }
    expectEqual(asker.errors.map(\.description), [])
    expectEqual(asks.count, 10_000)
    expectEqual(records.count, 10_000)
    expectEqual(result.summary.errors.map(\.description), [])
    let found = Dictionary(uniqueKeysWithValues: records.map { ($0.id, $0) })
    var farthest: [FrameChoice.Rule: Int64] = [:]
    for (ask, id) in zip(asks, asker.ids) {
      let captured = try #require(found[id]?.firstFrame).captured.nanoseconds
      expectEqual(UInt64(captured / Self.tick), Self.right(ask, frames))
      if ask.rule == .atOrAfter { expectAtLeast(captured, ask.time) }
      if ask.rule == .atOrBefore { expectAtMost(captured, ask.time) }
      farthest[ask.rule] = max(farthest[ask.rule] ?? 0, abs(captured - ask.time))
    }
    if !isDamaged {
      expectAtMost(farthest[.nearest] ?? .max, Self.tick / 2)
      expectLess(farthest[.atOrAfter] ?? .max, Self.tick)
      expectLess(farthest[.atOrBefore] ?? .max, Self.tick)
    }
    // A frame counts once, however many have chosen it.
    let counts = try #require(result.summary.ledger.entries.first?.counts)
    expectEqual(counts[.delivered], UInt64(Set(sink.contents.joined()).count))
    expectFalse(sink.isTorn)
  }

  /// While another recording is under way, which misses no frame.
  @Test func a23AChoiceWaitsForNoOtherRecording() throws {
    let (asker, sink) = (Asker(), Self.recorder())
    let result = try run(
      asker,
      .frames(0..<20) + [.call { asker.ask(.record(sink: "stills", frames: 30)) }]
        + .frames(20..<40)
        + [
          .call {
            asker.ask(Self.choice(.nearest, ago: .milliseconds(300)), at: Self.time(390_000_000))
            asker.ask(Self.choice(.atOrBefore), at: Self.time(250_000_000))
          }
        ] + .frames(40..<60), sinks: [sink], tick: Self.tick)
    expectEqual(sink.contents.map(Array.init), [Array(20..<50), [9], [25]])
    let records = result.records.sorted { $0.id.number < $1.id.number }
    expectEqual(records.map { $0.counts[.delivered] }, [30, 1, 1])
    // The choice was complete before the recording was.
    expectEqual(result.records.last?.id, asker.ids[0])
    expectEqual(result.summary.ledger.entries.first?.counts[.delivered], 31)
  }

  @Test func a23OneFrameForAll() throws {
    let (asker, sink) = (Asker(), Self.recorder())
    let result = try run(
      asker,
      .frames(0..<30) + [
        .call { for _ in 0..<5 { asker.ask(Self.choice(.nearest), at: Self.time(200_000_000)) } }
      ] + .frames(30..<40), sinks: [sink], tick: Self.tick)
    expectEqual(sink.contents, [[20], [20], [20], [20], [20]])
    expectEqual(result.summary.ledger.entries.first?.counts[.delivered], 1)
  }

  /// No other frame is given in place of the right one.
  @Test func a23WhatIsNotKeptIsAnError() throws {
    // Memory for ten frames.
    let (asker, sink) = (Asker(), Self.recorder(1000))
    let result = try run(
      asker,
      .frames(0..<60) + [
        .call {
          for rule in FrameChoice.Rule.allCases {
            asker.ask(Self.choice(rule, ago: .milliseconds(200)), at: Self.time(590_000_000))
          }
          asker.ask(Self.choice(.atOrBefore, ago: .milliseconds(50)), at: Self.time(590_000_000))
          asker.ask(Self.choice(.nearest, ago: .seconds(1)), at: Self.time(590_000_000))
        }
      ] + .frames(60..<70), sinks: [sink], tick: Self.tick)
    expectEqual(sink.contents, [[54]])
    expectTrue(asker.errors.first?.description.contains("the latest 300ms") ?? false)
    let errors = result.records.compactMap(\.error)
    expectEqual(errors.count, 3)
    expectTrue(errors.allSatisfy { $0.contains("those of the latest 100ms") })
    expectFalse(result.summary.errors.isEmpty)
  }

  /// A request for a frame or a time that is long past gives an error, and not another frame.
  @Test func a23APastFrameThatIsNotKeptIsAnError() throws {
    let (asker, sink) = (Asker(), Self.recorder())
    let result = try run(
      asker,
      .frames(0..<60) + [
        .call {
          for rule in FrameChoice.Rule.allCases {
            asker.ask(Self.choice(rule), at: .frame(10))
            asker.ask(Self.choice(rule), at: .time(.milliseconds(100)))
          }
          asker.ask(Self.choice(.nearest), at: .frame(50))
          asker.ask(Self.choice(.nearest), at: .time(.milliseconds(520)))
          asker.ask(Self.choice(.nearest, ago: .milliseconds(20)), at: .time(.milliseconds(530)))
        }
      ] + .frames(60..<70), sinks: [sink], tick: Self.tick)
    expectEqual(sink.contents, [[50], [52], [51]])
    expectEqual(result.records.compactMap(\.error).count, 6)
  }

  /// A frame of before the run's end is given; for one that did not come there is a record.
  @Test func a23TheEndOfTheRun() throws {
    let (asker, sink) = (Asker(), Self.recorder())
    let result = try run(
      asker,
      .frames(0..<30) + [
        .call {
          for rule in FrameChoice.Rule.allCases { asker.ask(Self.choice(rule), at: .now) }
          asker.ask(Self.choice(.nearest, ago: .milliseconds(50)), at: .frame(28))
        }
      ], sinks: [sink], tick: Self.tick)
    expectEqual(sink.contents, [[23]])
    expectEqual(result.records.map { $0.counts[.delivered] }.sorted(), [0, 0, 0, 1])
  }

  /// A new format begins with nothing kept; what was kept before it is given before.
  @Test func a23AnotherFormatEndsWhatIsKept() throws {
    let (asker, sink) = (Asker(), Self.recorder())
    let result = try run(
      asker,
      .frames(0..<30) + [
        .call { asker.ask(Self.choice(.nearest), at: Self.time(250_000_000)) },
        .frame(sequence: 30, corrupt: true), .epoch(width: 16),
      ] + .frames(31..<40) + [
        .call { asker.ask(Self.choice(.nearest), at: Self.time(250_000_000)) },
        .call { asker.ask(Self.choice(.atOrAfter), at: Self.time(311_000_000)) },
      ] + .frames(40..<50), sinks: [sink], tick: Self.tick)
    expectEqual(sink.contents, [[25], [32]])
    expectEqual(result.records.compactMap(\.error).count, 1)
  }
}
