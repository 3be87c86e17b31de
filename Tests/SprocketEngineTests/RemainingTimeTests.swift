import Synchronization
import TestExpectations
import Testing

@testable import SprocketCore
@testable import SprocketEngine

@Suite struct RemainingTimeTests {
  /// Reads pictures, where the others read luma.
  private final class Pictures: Sink {
    let name = "pictures"
    func configure(_ setup: inout SinkSetup) throws(RunError) { try setup.reads(.image) }
    func write(_ frame: borrowing PackedFrame) throws(RunError) {}
  }

  /// Asks how long frames take behind it.
  struct Asking: Stage {
    static let order = Order.any
    mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
      _ = setup.readsRemaining()
      return setup.format
    }
    mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
    static let plugin = Plugin("asking", "asks for the remaining time", Asking.self)
  }

  /// Frames before a change that unpacks more say nothing of the time that frames behind it take.
  @Test(arguments: [true, false]) func a17TheRemainingTimeIsMeasuredAnew(
    isUnpackedAnew: Bool
  ) throws {
    let source = endless()
    let engine = try Engine(
      source: source, stages: [StageChoice(Asking.plugin)], sinks: [RecordingSink()],
      options: RunOptions(workers: 1)
    ) { GreyUnpacker() }
    try engine.start()
    frames(source, 20)
    let new: any Sink = isUnpackedAnew ? Pictures() : RecordingSink("another")
    try engine.reconfigure(change { $0.attached = [new] })
    frames(source, 20)
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    let remaining = engine.stages[0].remaining
    expectEqual(remaining.first.load(ordering: .relaxed) > 0, isUnpackedAnew)
    expectGreater(remaining.p95, 0)
  }
}
