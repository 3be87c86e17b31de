import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

/// Sinks that come while the sound goes on.
@Suite struct LateSoundTests {
  @Test func aSinkThatComesWhileTheSoundEndsIsRefusedAndLeavesTheAccountBalanced() throws {
    let steps = (0..<100_000).flatMap { _ in
      [ScriptedSound.Step.block(count: 480), .pause(nanoseconds: 100_000)]
    }
    let engine = try AudioEngine(ScriptedSound(steps, isLive: true))
    try engine.start()
    expectTrue(waitUntil { engine.lastBlockTime > 0 })
    // The sink has its tap by then, and no thread yet.
    let sink = SinkOfTheEnd(after: 2) {
      engine.stop()
      expectTrue(engine.wait(for: .nanoseconds(longestWaitNanoseconds)))
      expectTrue(engine.summary.ledger.isBalanced)
    }
    let error = #expect(throws: RunError.self) { try engine.attach(sink) }
    expectEqual(error?.description.contains("is over"), true)
    expectTrue(engine.isOver)
    expectEmpty(engine.summary.ledger.entries)
    expectFalse(sink.hasRun)
  }
}

/// Does something when its name is asked for the last of several times.
private final class SinkOfTheEnd: AudioSink {
  private var left: Int
  private let body: () -> Void
  private(set) var hasRun = false

  init(after count: Int, _ body: @escaping () -> Void) { (left, self.body) = (count, body) }

  var name: String {
    left -= 1
    if left == 0 { body() }
    return "late"
  }

  func configure(_ sound: AudioDescription) throws(RunError) {}
  func run(_ tap: any AudioTap) throws(RunError) { hasRun = true }
}
