import SprocketCore
import SprocketEngine
import TestExpectations
import Testing

/// Recordings that are paused: rule A24 of the contract of requests.
@Suite(.timeLimit(.minutes(10)))
struct PauseTests {
  /// Nanoseconds between two frames.
  private static let tick: Int64 = 10_000_000

  private func sink() -> MemoryRecorder {
    let sink = MemoryRecorder()
    sink.frameLength = Self.tick
    return sink
  }

  private func pause(_ asker: Asker) -> ScriptedSource.Step {
    .call { asker.ask(.pause(asker.ids[0])) }
  }

  private func resume(_ asker: Asker) -> ScriptedSource.Step {
    .call { asker.ask(.resume(asker.ids[0])) }
  }

  private func record(_ asker: Asker) -> ScriptedSource.Step {
    .call { asker.ask(.record(sink: "movie")) }
  }

  @Test func a24FramesOfAPauseAreNotInTheFile() throws {
    let (asker, sink) = (Asker(), sink())
    var news: [String] = []
    let result = try run(
      asker,
      .frames(0..<5) + [record(asker)] + .frames(5..<10) + [pause(asker), pause(asker)]
        + .frames(10..<20) + [resume(asker), resume(asker)] + .frames(20..<25)
        + [.call { asker.stop(0) }] + .frames(25..<30), sinks: [sink], tick: Self.tick,
      after: {
        var mark = NewsMark()
        news =
          asker.engine?.news(since: &mark).map { "\($0)".prefix { $0 != "(" }.description } ?? []
      })
    expectEmpty(asker.errors)
    expectEqual(sink.contents, [Array(5..<10) + Array(20..<25)])
    expectEqual(news, ["started", "paused", "resumed", "ended"])
    let record = try #require(result.records.first)
    expectEqual(record.counts[.delivered], 10)
    expectEqual(record.counts[.unselected], 10)
    expectEqual(record.counts.sum, 20)
    expectEqual(record.reason, .asked)
    // From frame 5 to frame 24, without the ten of the pause.
    expectEqual(record.nanoseconds, 9 * Self.tick)
    expectEqual(record.pausedNanoseconds, 10 * Self.tick)
  }

  @Test func a24FramesOfAPreRollDoNotComeInByAResume() throws {
    let (asker, sink) = (Asker(), sink())
    sink.preRoll = PreRoll(.seconds(10))
    let result = try run(
      asker,
      .frames(0..<3) + [record(asker)] + .frames(3..<6) + [pause(asker)] + .frames(6..<12)
        + [resume(asker)] + .frames(12..<15) + [pause(asker)] + .frames(15..<18)
        + [.call { asker.stop(0) }] + .frames(18..<20) + [record(asker)] + .frames(20..<22),
      sinks: [sink], tick: Self.tick)
    expectEmpty(asker.errors)
    expectEqual(
      sink.contents, [Array(0..<6) + Array(12..<15), Array(18..<22)])
    expectEqual(result.records.first?.counts.sum, 18)
    expectEqual(result.records.first?.counts[.unselected], 9)
    let counts = try #require(result.summary.ledger.entries.first?.counts)
    expectEqual(counts[.delivered], 13)
    expectEqual(counts.sum, 22)
  }

  @Test func a24ALimitOfTimeIsWithoutThePause() throws {
    let (asker, sink) = (Asker(), sink())
    sink.limits.duration = .nanoseconds(10 * Self.tick)
    let result = try run(
      asker,
      .frames(0..<5) + [record(asker)] + .frames(5..<10) + [pause(asker)] + .frames(10..<30)
        + [resume(asker)] + .frames(30..<50), sinks: [sink], tick: Self.tick)
    expectEmpty(asker.errors)
    expectEqual(sink.contents, [Array(5..<10) + Array(30..<35)])
    expectEqual(result.records.first?.reason, .duration)
  }

  @Test func a24AFileDurationIsWithoutThePause() throws {
    let (asker, sink) = (Asker(), sink())
    sink.limits.fileDuration = .nanoseconds(10 * Self.tick)
    try run(
      asker,
      [record(asker)] + .frames(0..<5) + [pause(asker)] + .frames(5..<30) + [resume(asker)]
        + .frames(30..<42), sinks: [sink], tick: Self.tick)
    expectEqual(sink.contents, [Array(0..<5) + Array(30..<35), Array(35..<42)])
  }

  @Test func a24AFrameBehindAPauseMayReachALimit() throws {
    let (asker, sink) = (Asker(), sink())
    sink.limits.duration = .nanoseconds(5 * Self.tick)
    let result = try run(
      asker,
      [record(asker)] + .frames(0..<5) + [pause(asker)] + .frames(5..<30) + [resume(asker)]
        + .frames(30..<42), sinks: [sink], tick: Self.tick)
    expectEqual(sink.contents, [Array(0..<5)])
    expectEqual(result.records.first?.reason, .duration)
  }

  @Test func a24APauseThatFollowsAPauseIsTheSame() throws {
    let (asker, sink) = (Asker(), sink())
    let result = try run(
      asker,
      [record(asker)] + .frames(0..<5) + [pause(asker)] + .frames(5..<8)
        + [resume(asker), pause(asker)] + .frames(8..<10) + [resume(asker)] + .frames(10..<15)
        + [.call { asker.stop(0) }] + .frames(15..<16), sinks: [sink], tick: Self.tick)
    expectEqual(sink.contents, [Array(0..<5) + Array(10..<15)])
    expectEqual(result.records.first?.nanoseconds, 9 * Self.tick)
  }

  @Test func a24PacketsGoOnWithAKeyFrame() throws {
    let (asker, sink) = (Asker(), sink())
    sink.needsEarlierFrames = true
    let result = try run(
      asker,
      .frames(0..<4) + [record(asker)] + .frames(4..<10) + [pause(asker)] + .frames(10..<21)
        + [resume(asker)] + .frames(21..<27), sinks: [sink], tick: Self.tick, keyEvery: 4)
    expectEqual(sink.contents, [Array(4..<10) + Array(24..<27)])
    expectEqual(result.records.first?.nanoseconds, 8 * Self.tick)
  }

  @Test func a24APauseLastsInTheNextFileAndToTheRunsEnd() throws {
    let (asker, sink) = (Asker(), sink())
    let result = try run(
      asker,
      [record(asker)] + .frames(0..<5) + [pause(asker)] + .frames(5..<8)
        + [.call { asker.ask(.next(asker.ids[0])) }] + .frames(8..<10) + [resume(asker)]
        + .frames(10..<12) + [pause(asker)] + .frames(12..<15), sinks: [sink], tick: Self.tick)
    expectEmpty(asker.errors)
    expectEqual(sink.contents, [Array(0..<5), Array(10..<12)])
    expectEqual(result.records.map(\.counts.sum), [8, 7])
    expectEqual(result.records.map(\.isUsable), [true, true])
    expectEqual(result.records.last?.reason, .end)
  }

  @Test func a24WhatCannotBePausedIsRefused() throws {
    let (asker, sink) = (Asker(), sink())
    try run(
      asker,
      [.call { asker.ask(.record(sink: "movie", frames: 3)) }, pause(asker)] + .frames(0..<5)
        + [.call { asker.ask(.resume(RecordingID(7))) }] + .frames(5..<6), sinks: [sink],
      tick: Self.tick)
    expectEqual(sink.contents, [[0, 1, 2]])
    expectEqual(
      asker.errors.map(\.description),
      [
        "recording 1 counts its frames, and cannot be paused; record until it is stopped",
        "there is no recording 7",
      ])
  }
}
