import SprocketCore
import SprocketEngine
import TestExpectations
import Testing

/// Keeps one frame at a time, and gives it up for each that follows, but for every fifth.
private final class FickleSink: Sink {
  let name = "fickle"
  let failsAt: UInt64?
  private(set) var replacedCount: UInt64 = 0
  private(set) var durableCount: UInt64 = 0
  private var keeps = false

  init(failsAt: UInt64?) { self.failsAt = failsAt }

  func configure(_ setup: inout SinkSetup) throws(RunError) { try setup.reads(.luma(.full)) }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let number = frame.record.number
    if keeps, number % 5 == 0 {
      keeps = false
      if number == failsAt { throw RunError(.failed, "the disk is full; free some space") }
      durableCount += 1
    } else if keeps {
      replacedCount += 1
    }
    keeps = true
  }

  func finish() throws(RunError) {
    if keeps { durableCount += 1 }
  }
}

@Suite struct ReplacedFrameTests {
  /// A frame that a sink gives up for a later one is `unselected`, and the ledger balances.
  @Test(arguments: [nil, 50]) func framesThatAreGivenUpAreUnselected(failsAt: UInt64?) throws {
    let (sink, other) = (FickleSink(failsAt: failsAt), RecordingSink())
    let summary = try run(
      ScriptedSource((0..<100).map { .frame(sequence: $0) }), sinks: [sink, other])
    expectTrue(summary.ledger.isBalanced)
    let counts = summary.ledger.entries[0].counts
    if failsAt == nil {
      expectTrue(counts[.delivered] == 20 && counts[.unselected] == 80)
    } else {
      // Of the 50 before, 9 are on the disk and the kept one is lost; so is what comes later.
      expectTrue(counts[.delivered] == 9 && counts[.unselected] == 40 && counts[.failed] == 51)
    }
    expectEqual(summary.ledger.entries[1].counts[.delivered], 100)
  }
}
