import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

/// Never comes back from one frame until it is let go.
struct Stuck: Stage {
  static let order = Order.sequence
  static let isHeld = Atomic<Bool>(true)
  static let isReached = Atomic<Bool>(false)
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict {
    while frame.record.number == 20, Stuck.isHeld.load(ordering: .relaxed) {
      Stuck.isReached.store(true, ordering: .relaxed)
      usleep(1000)
    }
    return .keep
  }
  static let plugin = Plugin("stuck", "does not come back", Stuck.self)
}

/// Cannot be configured for frames of another size.
struct Picky: Stage {
  static let order = Order.any
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    if setup.format.width != 8 { throw StageError("wants a width of 8; give it that") }
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
  static let plugin = Plugin("picky", "wants a width of 8", Picky.self)
}

@Suite(.serialized) struct StuckTests {
  private func options(drain: Duration) -> RunOptions {
    RunOptions(workers: 2, drainLimit: drain, traceLimit: 1000)
  }

  @Test func r8AStuckStageDoesNotKeepTheRunOrTheSinksFromEnding() throws {
    let sink = RecordingSink()
    let source = ScriptedSource([.frame(sequence: 0)], repeats: true)
    let engine = try Engine(
      source: source, stages: [StageChoice(Stuck.plugin)], sinks: [sink],
      options: options(drain: .milliseconds(500))
    ) { GreyUnpacker() }
    try engine.start()
    expectTrue(
      waitUntil { Stuck.isReached.load(ordering: .relaxed) && engine.progress.delivered[0] == 20 })
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    let summary = engine.summary
    expectTrue(summary.ledger.isBalanced)
    expectEqual(summary.ledger.entries[0].counts[.delivered], 20)
    expectEqual(summary.ledger.entries[0].counts[.flushed], summary.ledger.produced - 20)
    expectEqual(sink.finishes, 1)
    expectEqual(
      summary.errors.map(\.description),
      [
        "the thread `stuck` did not come to an end in time at stage `stuck`, frame 20; look at what it waits "
          + "for: a disk, a device, a reader, or an encoder that needs a faster preset"
      ])
    let threads = try #require(engine.trace).threads
    expectEqual(threads.filter { $0.slices == nil }.map(\.name), ["stuck"])
    Stuck.isHeld.store(false, ordering: .relaxed)
    expectTrue(waitUntil { threads.allSatisfy { $0.slices != nil } })
  }

  /// Frames in the buffers of a stuck sink do not count as delivered.
  @Test(arguments: [UInt64.max, 0])
  func r8AStuckSinkDoesNotKeepTheRunFromEndingAndTheLedgerBalances(durableCount: UInt64) throws {
    let stuck = RecordingSink("stuck")
    let hold = Hold()
    stuck.delay = { [unowned stuck] _ in
      let isHolding = stuck.lines.count { $0.fate == .delivered } >= 5
      while isHolding, hold.isHeld.load(ordering: .relaxed) {
        hold.isReached.store(true, ordering: .relaxed)
        usleep(1000)
      }
      return 0
    }
    stuck.durableCount = durableCount
    let other = RecordingSink("other")
    let engine = try Engine(
      source: ScriptedSource([.frame(sequence: 0)], isLive: true, repeats: true), stages: [],
      sinks: [stuck, other], options: options(drain: .milliseconds(500))
    ) { GreyUnpacker() }
    try engine.start()
    expectTrue(waitUntil { hold.isReached.load(ordering: .relaxed) })
    engine.stop()
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    let summary = engine.summary
    expectTrue(summary.ledger.isBalanced)
    expectEqual(other.finishes, 1)
    expectEqual(summary.errors.count, 1)
    let counts = summary.ledger.entries[0].counts
    expectGreater(counts[durableCount == 0 ? .failed : .delivered], 0)
    expectEqual(counts[durableCount == 0 ? .delivered : .failed], 0)
    hold.isHeld.store(false, ordering: .relaxed)
    let threads = try #require(engine.trace).threads
    expectTrue(waitUntil { threads.allSatisfy { $0.slices != nil } })
  }

  @Test func r9ASlowSinkAtAnEpochsEndLosesItsOwnFramesAndTheRunGoesOn() throws {
    let slow = RecordingSink("slow")
    let hold = Hold()
    slow.delay = { number in
      while number == 3, hold.isHeld.load(ordering: .relaxed) { usleep(1000) }
      return 0
    }
    let steps: [ScriptedSource.Step] =
      (0..<6).flatMap { number -> [ScriptedSource.Step] in
        [.frame(sequence: UInt64(number)), .pause(nanoseconds: 2_000_000)]
      } + [.epoch(width: 24), .call { hold.isHeld.store(false, ordering: .relaxed) }]
      + (0..<50).flatMap { number -> [ScriptedSource.Step] in
        [.frame(sequence: UInt64(number)), .pause(nanoseconds: 2_000_000)]
      }
    let engine = try Engine(
      source: ScriptedSource(steps, isLive: true), stages: [], sinks: [slow],
      options: options(drain: .milliseconds(500))
    ) { GreyUnpacker() }
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    let summary = engine.summary
    expectTrue(summary.ledger.isBalanced)
    expectEqual(summary.ledger.produced, 56)
    expectEqual(summary.epochs, 2)
    expectEmpty(summary.errors)
    expectEqual(slow.finishes, 1)
  }

  @Test func aSinkThatIsDoneWithItsEpochIsNotAskedToReturn() throws {
    let slow = RecordingSink("slow")
    // It may wait in the next epoch.
    let other = RecordingSink("other")
    slow.delay = { number in
      while number == 3, slow.interrupts.load(ordering: .relaxed) == 0 { usleep(1000) }
      return 0
    }
    let frames = (0..<6).map { ScriptedSource.Step.frame(sequence: UInt64($0)) }
    let engine = try Engine(
      source: ScriptedSource(frames + [.epoch(width: 24)] + frames, isLive: true), stages: [],
      sinks: [slow, other], options: options(drain: .milliseconds(50))
    ) { GreyUnpacker() }
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    expectEqual(engine.summary.epochs, 2)
    expectAtLeast(slow.interrupts.load(ordering: .relaxed), 1)
    expectEqual(other.interrupts.load(ordering: .relaxed), 0)
  }

  @Test func sinksAreFinishedWhenTheNextEpochCannotBeMade() throws {
    let sink = RecordingSink()
    let steps: [ScriptedSource.Step] =
      (0..<20).map { .frame(sequence: UInt64($0)) } + [.epoch(width: 24), .frame(sequence: 0)]
    let summary = try run(ScriptedSource(steps), [Picky.plugin], sinks: [sink])
    expectEqual(sink.finishes, 1)
    expectEqual(summary.ledger.entries[0].counts[.delivered], 20)
    expectEqual(summary.errors.map(\.description), ["picky wants a width of 8; give it that"])
  }

  @Test func anEngineIsFreedWhenNobodyHoldsIt() throws {
    weak var freed: Engine?
    do {
      let engine = try Engine(
        source: ScriptedSource(frames: 5), stages: [], sinks: [RecordingSink()],
        options: options(drain: longestWait)
      ) { GreyUnpacker() }
      freed = engine
      try engine.start()
      expectTrue(engine.wait(for: longestWait))
    }
    expectTrue(waitUntil { freed == nil })
  }
}

/// A flag that closures may share.
final class Hold: Sendable {
  let isHeld = Atomic<Bool>(true)
  let isReached = Atomic<Bool>(false)
}
