import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

/// Sinks that block when the run has to wait for them.
@Suite(.serialized) struct LeftBehindTests {
  private let hold = Hold()

  /// Makes a sink that blocks when it writes frame 20, until `hold` lets it go on.
  private func blocked(_ name: String = "blocked") -> RecordingSink {
    let sink = RecordingSink(name)
    sink.delay = { [hold] number in
      while number == 20, hold.isHeld.load(ordering: .relaxed) {
        hold.isReached.store(true, ordering: .relaxed)
        usleep(1000)
      }
      return 0
    }
    return sink
  }

  private func started(
    _ source: ScriptedSource, _ sinks: [any Sink], _ stages: [Plugin] = []
  ) throws -> Engine {
    let engine = try Engine(
      source: source, stages: stages.map { StageChoice($0) }, sinks: sinks,
      options: RunOptions(workers: 2, drainLimit: .milliseconds(500))
    ) { GreyUnpacker() }
    try engine.start()
    return engine
  }

  private func end(_ engine: Engine, _ source: ScriptedSource) {
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    expectTrue(engine.summary.ledger.isBalanced, "\(engine.summary.ledger)")
    expectFalse(source.isLentWritten)
  }

  private var isBlocked: Bool { waitUntil { hold.isReached.load(ordering: .relaxed) } }

  /// It keeps what it reads, and has an account of its own when it goes on.
  @Test(arguments: [true, false]) func a20ASinkThatBlocksIsDetached(lends: Bool) throws {
    let (other, blocked) = (RecordingSink("other"), blocked())
    let source = endless(lends: lends)
    let engine = try started(source, [blocked, other])
    expectTrue(isBlocked)
    try engine.reconfigure(change { $0.detached = ["blocked"] })
    frames(source, 50)
    expectEmpty(engine.summary.detached)
    expectEqual(engine.summary.sinks.map(\.name), ["other"])
    // Its name is free.
    let next = RecordingSink("blocked")
    try engine.reconfigure(change { $0.attached = [next] })
    frames(source, 20)
    hold.isHeld.store(false, ordering: .relaxed)
    expectTrue(waitUntil { engine.summary.detached.count == 1 })
    frames(source, 20)
    end(engine, source)
    let summary = engine.summary
    expectEmpty(summary.errors)
    expectEqual(blocked.finishes, 1)
    expectFalse(blocked.isTorn)
    // What it reads lay in the source's own memory, which came home when it was done.
    expectEqual(source.outstanding, 0)
    let account = try #require(summary.detached.first)
    let range = try #require(
      summary.ledger.entries.first { $0.sink == "blocked" && $0.frames?.lowerBound == 0 }?.frames)
    expectEqual(account.counts.sum, UInt64(range.count))
    expectEqual(account.counts[.delivered], UInt64(blocked.lines.count { $0.fate == .delivered }))
    expectTrue(
      blocked.lines.allSatisfy {
        $0.fate != .delivered || $0.byte == UInt8(truncatingIfNeeded: $0.sequence)
      })
    expectGreater(next.lines.count { $0.fate == .delivered }, 0)
  }

  /// The run ends with an error that names it, and the others are whole.
  @Test func a20ASinkThatBlocksForGoodIsToldAtTheEnd() throws {
    let (other, blocked) = (RecordingSink("other"), blocked())
    let source = endless()
    let engine = try started(source, [blocked, other])
    expectTrue(isBlocked)
    try engine.reconfigure(change { $0.detached = ["blocked"] })
    frames(source, 20)
    end(engine, source)
    expectEqual(
      engine.summary.errors.map(\.description),
      ["the sink `blocked` did not finish; look at what it waits for: a disk, or a reader"])
    expectEqual(other.finishes, 1)
    hold.isHeld.store(false, ordering: .relaxed)
  }

  /// A sink that stays blocks: nothing changes, and the sink that works gets each frame.
  @Test func a18AChangeBesideASinkThatBlocksIsRefused() throws {
    let (other, blocked) = (RecordingSink("other"), blocked())
    let source = endless()
    let engine = try started(source, [other, blocked])
    expectTrue(isBlocked)
    let error = #expect(throws: RunError.self) {
      try engine.reconfigure(change { $0.detached = ["other"] })
    }
    expectTrue((error?.description ?? "").contains("blocked has taken no frame for 2 s"))
    frames(source, 20)
    hold.isHeld.store(false, ordering: .relaxed)
    try engine.reconfigure(change { $0.detached = ["other"] })
    end(engine, source)
    expectEmpty(engine.summary.errors)
    expectEqual(other.lines.map(\.number), Array(0..<UInt64(other.lines.count)))
  }

  /// Writes what it was given when it has nothing else to do, and blocks there.
  private final class Lazy: Sink {
    let name = "lazy"
    private let hold: Hold
    private var hasFrame = false
    init(_ hold: Hold) { self.hold = hold }
    func configure(_ setup: inout SinkSetup) {}
    func write(_ frame: borrowing PackedFrame) { hasFrame = true }
    func idle() {
      while hasFrame, hold.isHeld.load(ordering: .relaxed) { usleep(1000) }
    }
  }

  /// It has taken all frames that were there, and has not begun to block.
  @Test func a18ASinkThatBlocksNextIsFoundBeforeTheChange() throws {
    let other = RecordingSink("other")
    let source = endless(apart: 5_000_000)
    let engine = try started(source, [other])
    try engine.reconfigure(change { $0.attached = [Lazy(hold)] })
    let error = #expect(throws: RunError.self) {
      try engine.reconfigure(change { $0.attached = [RecordingSink("another")] })
    }
    expectTrue((error?.description ?? "").contains("lazy has taken no frame for 2 s"))
    frames(source, 20)
    hold.isHeld.store(false, ordering: .relaxed)
    end(engine, source)
    expectEmpty(engine.summary.errors)
  }

  /// A change that is refused when the sink was left behind: it is told, and the others go on.
  @Test func a18AChangeThatFailsGoesOnWithoutTheSinkThatBlocks() throws {
    let (other, blocked) = (RecordingSink("other"), blocked())
    other.refusesWidth = 24
    let source = endless()
    let engine = try started(source, [blocked, other])
    expectTrue(isBlocked)
    let error = #expect(throws: RunError.self) {
      try engine.reconfigure(
        change {
          $0.detached = ["blocked"]
          $0.source = endless(24)
        })
    }
    expectTrue((error?.description ?? "").contains("another width"))
    let before = source.served.load(ordering: .relaxed)
    frames(source, 20)
    expectGreater(source.served.load(ordering: .relaxed), before)
    hold.isHeld.store(false, ordering: .relaxed)
    expectTrue(waitUntil { engine.summary.detached.count == 1 })
    end(engine, source)
    expectEqual(engine.summary.errors.count, 1)
    expectTrue(engine.summary.errors[0].description.contains("blocked took no frame"))
    expectGreater(other.lines.count { $0.fate == .delivered }, 20)
  }

  /// Frames, another width when a sink blocks, and frames without end.
  private func changing() -> ScriptedSource {
    func frames(_ count: UInt64) -> [ScriptedSource.Step] {
      (0..<count).flatMap { [.frame(sequence: $0), .pause(nanoseconds: 1_000_000)] }
    }
    return ScriptedSource(
      frames(40) + [.hold { [hold] in !hold.isReached.load(ordering: .relaxed) }]
        + [.epoch(width: 24)] + frames(100_000), isLive: true)
  }

  /// The source begins an epoch by itself while a sink blocks, and goes on meanwhile. The account of the sink
  /// has the frames that came until the next epoch.
  @Test(arguments: [true, false]) func r9ASinkThatBlocksAtAnEpochsEndIsLeftBehind(
    goesOn: Bool
  ) throws {
    let (other, blocked) = (RecordingSink("other"), blocked())
    let source = changing()
    let engine = try started(source, [blocked, other])
    expectTrue(waitUntil { engine.summary.epochs == 2 })
    if goesOn {
      hold.isHeld.store(false, ordering: .relaxed)
      expectTrue(waitUntil { engine.summary.detached.count == 1 })
    }
    frames(source, 40)
    end(engine, source)
    let summary = engine.summary
    expectEqual(summary.errors.count, goesOn ? 1 : 2)
    expectTrue(summary.errors[0].description.contains("blocked took no frame"))
    expectEqual(summary.detached.map(\.name), ["blocked"])
    expectEqual(summary.sinks.map(\.name), ["other"])
    expectEqual(blocked.finishes, goesOn ? 1 : 0)
    expectGreater(summary.detached[0].counts[.overrun], 0)
    expectGreater(other.lines.count { $0.fate == .delivered }, 40)
    hold.isHeld.store(false, ordering: .relaxed)
  }

  /// No epoch follows the one that left a sink behind: a stage refuses it.
  @Test func aRunThatEndsWithTheEpochLeavesTheSinkAlone() throws {
    let (other, blocked) = (RecordingSink("other"), blocked())
    let source = changing()
    let engine = try started(source, [blocked, other], [Picky.plugin])
    expectTrue(engine.wait(for: longestWait))
    let summary = engine.summary
    expectTrue(summary.ledger.isBalanced, "\(summary.ledger)")
    expectTrue(summary.errors.contains { $0.description.contains("a width of 8") })
    expectEqual(summary.detached.map(\.name), ["blocked"])
    expectEqual(summary.sinks.map(\.name), ["other"])
    expectEqual(other.finishes, 1)
    hold.isHeld.store(false, ordering: .relaxed)
  }
}
