import Glibc
import SprocketCore
import Synchronization
import TestExpectations
import Testing

@testable import SprocketEngine

/// A stage whose thread the system refuses: from the start, or once frames have another size.
struct Unstarted: Stage {
  static let order = Order.sequence
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    if setup.format.width != 8 { EngineThread.refused.withLock { $0["unstarted"] = .some(nil) } }
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
  static let plugin = Plugin("unstarted", "gets no thread", Unstarted.self)
}

@Suite(.serialized) struct ThreadFailureTests {
  private func allow() { EngineThread.refused.withLock { $0 = [:] } }

  @Test func aLaneThatCannotStartEndsTheRunWithOneSentenceAndFinishedSinks() throws {
    EngineThread.refused.withLock { $0["unstarted"] = .some(nil) }
    defer { allow() }
    let sinks = [RecordingSink("a"), RecordingSink("b", packs: true)]
    let summary = try run(ScriptedSource(frames: 20), [Unstarted.plugin], sinks: sinks)
    expectEqual(sinks.map(\.finishes), [1, 1])
    expectEqual(summary.errors.count, 1)
    expectEqual(summary.errors.first?.description.contains("`unstarted`"), true)
    expectEqual(summary.errors.first?.description.contains("ulimit -u"), true)
  }

  @Test func aLaneThatCannotStartAtAnEpochsChangeLeavesWhatWasRecordedComplete() throws {
    defer { allow() }
    let sinks = [RecordingSink("a"), RecordingSink("b", packs: true)]
    let steps: [ScriptedSource.Step] =
      (0..<20).map { .frame(sequence: UInt64($0)) } + [.epoch(width: 24)]
      + (0..<20).map { .frame(sequence: UInt64($0)) }
    let source = ScriptedSource(steps)
    let summary = try run(source, [Unstarted.plugin], sinks: sinks)
    expectTrue(summary.ledger.entries.allSatisfy { $0.counts[.delivered] == 20 })
    expectEqual(summary.ledger.produced, 20)
    expectEqual(sinks.map(\.finishes), [1, 1])
    expectEqual(summary.errors.count, 1)
  }

  @Test(arguments: ["run", "source", "only sink"])
  func withoutTheThreadsOfItsEndARunDoesNotBegin(name: String) throws {
    EngineThread.refused.withLock { $0[name] = pthread_self() }
    defer { allow() }
    let source = ScriptedSource(frames: 1)
    let sink = RecordingSink("only sink")
    let error = #expect(throws: RunError.self) {
      _ = try Engine(source: source, stages: [], sinks: [sink], options: RunOptions(workers: 1)) {
        GreyUnpacker()
      }
    }
    expectEqual(error?.code, .failed)
    expectEqual(error?.description.contains("`\(name)`"), true)
  }
}

@Suite struct SourceEndTests {
  private func start(_ source: FrailSource, _ sinks: [any Sink], duration: Duration? = nil) throws
    -> Engine
  {
    let options = RunOptions(
      workers: 2, durationLimit: duration, drainLimit: .milliseconds(200))
    let engine = try Engine(source: source, stages: [], sinks: sinks, options: options) {
      GreyUnpacker()
    }
    try engine.start()
    return engine
  }

  @Test(arguments: [FrailSource.Call.next, .take, .close], [false, true])
  func aSourceThatDoesNotReturnIsAbandonedAndSinksAreFinished(
    call: FrailSource.Call, isLive: Bool
  ) throws {
    let source = FrailSource(call, isLive: isLive)
    let sink = RecordingSink()
    let engine = try start(source, [sink])
    source.waitUntilReached()
    engine.stop()
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    let summary = engine.summary
    expectTrue(summary.ledger.isBalanced)
    expectEqual(sink.finishes, 1)
    expectEqual(
      summary.errors.map(\.description),
      [
        "the source `frail` did not return from a call; look at what it waits for"
      ])
    // The frame that it was taking was announced and never came.
    expectEqual(summary.ledger.entries[0].counts[.missing], (call == .take ? 1 : 0))
    // It comes back when all is over, and calls nothing any more.
    source.isHeld.store(false, ordering: .releasing)
    usleep(100_000)
    expectEqual(source.late.load(ordering: .relaxed), 0)
  }

  @Test func aSourceIsAskedToReturnAtTheFirstStop() throws {
    let source = FrailSource(.next, heeds: true)
    let sink = RecordingSink()
    let engine = try start(source, [sink])
    source.waitUntilReached()
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    let summary = engine.summary
    expectEmpty(summary.errors)
    expectEqual(summary.ledger.entries[0].counts[.delivered], 10)
    expectEqual(source.closes.load(ordering: .relaxed), 1)
  }

  /// A bracket that is over asks for the run's end at each later frame.
  @Test func anEndThatIsAskedForAgainLosesNoFrame() throws {
    let source = endless()
    let sink = RecordingSink()
    sink.delay = { _ in 20_000_000 }
    let summary = try run(
      source, sinks: [sink],
      during: { engine in
        frames(source, 20)
        for _ in 0..<3 {
          engine.end()
          usleep(1000)
        }
      })
    expectEqual(summary.ledger.entries[0].counts[.flushed], 0)
    expectEmpty(summary.errors)
    expectGreater(summary.ledger.entries[0].counts[.delivered], 0)
  }

  @Test func aSourceIsAskedToReturnWhenTheTimeIsOver() throws {
    let source = FrailSource(.next, isLive: true, heeds: true)
    // Time enough for its first frames on a busy machine.
    let engine = try start(source, [RecordingSink()], duration: .seconds(2))
    expectTrue(engine.wait(for: longestWait))
    expectEmpty(engine.summary.errors)
  }

  @Test func aLiveSourceThatSendsNoFrameFailedTheRun() throws {
    let source = FrailSource(.silent, after: 0, isLive: true)
    let engine = try start(source, [RecordingSink()], duration: .milliseconds(100))
    expectTrue(engine.wait(for: longestWait))
    expectEqual(engine.summary.errors.count, 1)
    expectEqual(
      engine.summary.errors.map(\.description),
      [
        "frail sent no frame; it may need longer to begin: give a longer duration"
      ])
  }

  @Test func aLiveSourceThatHasNothingAndSaysSoIsNoFailure() throws {
    let engine = try start(FrailSource(.close, after: 0, isLive: true), [RecordingSink()])
    engine.stop()
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
  }
}

@Suite struct LastingTests {
  /// A sink of which nothing remains.
  final class Passing: Sink {
    let name = "passing"
    var lasts: Bool { false }
    func configure(_ setup: inout SinkSetup) throws(RunError) {}
    func write(_ frame: borrowing PackedFrame) throws(RunError) {}
  }

  private func gone(at number: UInt64, _ code: RunError.Code) -> RecordingSink {
    let sink = RecordingSink("pipe")
    sink.failsAt = number
    sink.failure = RunError(code, "nobody reads")
    return sink
  }

  @Test(arguments: [RunError.Code.readerGone, .failed])
  func aSinkThatIsAtItsEndEndsAloneWhileAnothersWorkLasts(code: RunError.Code) throws {
    let movie = RecordingSink("movie")
    let summary = try run(ScriptedSource(frames: 100), sinks: [gone(at: 10, code), movie])
    expectEqual(summary.ledger.entries[0].counts[.delivered], 10)
    expectEqual(summary.ledger.entries[1].counts[.delivered], 100)
    expectEqual(summary.errors.isEmpty, (code == .readerGone))
    expectEqual(summary.notes.contains("nobody reads"), (code == .readerGone))
  }

  @Test(arguments: [RunError.Code.readerGone, .failed])
  func theRunEndsWhenNothingOfItWouldRemain(code: RunError.Code) throws {
    let source = ScriptedSource([.frame(sequence: 0)], repeats: true)
    let summary = try run(source, sinks: [gone(at: 10, code), Passing()])
    expectEqual(summary.ledger.entries[0].counts[.delivered], 10)
  }
}
