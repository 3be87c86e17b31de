import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

/// Holds its first frame until the source lets it go.
private struct Blocked: PlainStage {
  static let order = Order.sequence
  static let plugin = Plugin("blocked", "holds its first frame", Blocked.self)
  static let isReached = Atomic<Bool>(false)
  static let isLetGo = Atomic<Bool>(false)
  mutating func process(_ frame: inout FrameView) -> Verdict {
    Self.isReached.store(true, ordering: .releasing)
    expectTrue(waitUntil { Self.isLetGo.load(ordering: .acquiring) })
    return .keep
  }
}

@Suite struct BusyTests {
  /// The last stage waits for the blocked one, and is not blamed.
  @Test func framesThatFindNoRoomNameTheStageThatWasBusy() throws {
    let later = (1...60).map { ScriptedSource.Step.frame(sequence: UInt64($0)) }
    let source = ScriptedSource(
      [.frame(sequence: 0), .hold { !Blocked.isReached.load(ordering: .acquiring) }] + later
        + [.call { Blocked.isLetGo.store(true, ordering: .releasing) }],
      isLive: true)
    let summary = try run(source, [Blocked.plugin, FourBack.plugin], sinks: [RecordingSink()])
    let lost = summary.ledger.entries[0].counts[.overrun]
    expectTrue(lost > 20)
    expectEqual(summary.notes, ["\(lost) frames found no room (overrun): stage `blocked` was busy"])
  }
}
