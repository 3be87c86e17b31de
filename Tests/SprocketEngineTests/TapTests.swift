import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

/// Taps the source: writes down every frame, and checks it against what its packer made of it.
///
/// Unchecked: the engine uses it on one thread at a time, and tests look after the run.
final class TapSink: Sink, @unchecked Sendable {
  let name = "tap"
  let packs: Bool
  var lines: [(number: UInt64, fate: Fate)] = []
  var sourceFates: [UInt64: Fate] = [:]
  var isTorn = false
  var sealed: Ledger?
  var failsToSeal = false
  var backlog = 8

  init(packs: Bool = true) { self.packs = packs }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    try setup.reads(.encoded)
    setup.tapsSource = true
    setup.backlog = backlog
    if packs { setup.packs(capacity: 64) }
  }

  func makePacker() -> (any Packer)? { packs ? FirstSourceByte() : nil }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let byte = UInt8(truncatingIfNeeded: frame.record.sequence)
    let row = frame.view.sourcePlane(0)[row: 0]
    for index in row.indices where row[index] != byte { isTorn = true }
    if packs, frame.packed[0] != byte { isTorn = true }
    lines.append((frame.record.number, .delivered))
  }

  func account(_ lost: LostFrame) throws(RunError) {
    lines.append((lost.number, lost.fate))
    sourceFates[lost.number] = lost.sourceFate
  }

  func seal(_ ledger: Ledger) throws(RunError) {
    sealed = ledger
    if failsToSeal { throw RunError(.failed, "the disk is full; free some space") }
  }
}

final class FirstSourceByte: Packer {
  func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    bytes[0] = frame.sourcePlane(0)[row: 0][0]
    return 1
  }
}

/// Looks four frames back.
struct FourBack: Stage {
  static let order = Order.sequence
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.full))
    setup.readsHistory(4)
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
  static let plugin = Plugin("fourback", "looks four frames back", FourBack.self)
}

@Suite(.timeLimit(.minutes(10)))
struct TapTests {
  /// Eight frames with a gap of two, a damaged one and two of the start.
  private static let faults: [ScriptedSource.Step] = [
    .frame(sequence: 0, startup: true), .frame(sequence: 1, startup: true), .frame(sequence: 2),
    .frame(sequence: 5), .frame(sequence: 6, corrupt: true), .frame(sequence: 7),
    .frame(sequence: 8), .frame(sequence: 9),
  ]

  @Test(arguments: [true, false])
  func r5WhoTapsTheSourceGetsWhatArrivedWhateverTheChainSays(packs: Bool) throws {
    let tap = TapSink(packs: packs)
    let end = RecordingSink()
    let source = ScriptedSource(Self.faults, lends: true)
    let summary = try run(source, [RejectThirds.plugin, AddOne.plugin], sinks: [tap, end])
    expectEmpty(summary.errors)
    expectFalse(tap.isTorn)
    expectEqual(tap.lines.map(\.number), Array(0..<10))
    expectEqual(
      tap.lines.map(\.fate),
      [
        .delivered, .delivered, .delivered, .missing, .missing, .delivered, .delivered, .delivered,
        .delivered, .delivered,
      ])
    expectEqual(
      end.lines.map(\.fate),
      [
        .startup, .startup, .rejected, .missing, .missing, .rejected, .corrupt, .delivered,
        .rejected, .delivered,
      ])
  }

  /// Five milliseconds a frame, for a source that needs none.
  struct Slow: Stage {
    static let order = Order.sequence
    mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
      setup.format
    }
    mutating func process(_ frame: inout FrameView) -> Verdict {
      usleep(5000)
      return .keep
    }
    static let plugin = Plugin("slow", "takes its time", Slow.self)
  }

  @Test func r10ADamagedFrameWithoutRoomIsOverrunToWhoTapsTheSource() throws {
    let tap = TapSink()
    let end = RecordingSink()
    let source = ScriptedSource(
      (0..<200).map { .frame(sequence: $0, corrupt: $0 % 3 == 1, startup: $0 % 3 == 2) },
      isLive: true)
    _ = try run(source, [Slow.plugin], sinks: [tap, end])
    let damaged: [Fate?] = [nil, .corrupt, .startup]
    for line in end.lines where line.number % 3 > 0 {
      expectEqual(line.fate, damaged[Int(line.number % 3)])
    }
    let lost = tap.lines.filter { $0.fate == .overrun }
    expectEqual(Set(lost.map { $0.number % 3 }), [0, 1, 2])
    for line in lost { expectEqual(tap.sourceFates[line.number], damaged[Int(line.number % 3)]) }
    expectTrue(tap.lines.allSatisfy { [.delivered, .overrun, .behind].contains($0.fate) })
  }

  /// Pauses long enough for every thread to have passed, and far fewer frames than the ring is deep.
  private static func framesAndPauses(_ frames: Int) -> [ScriptedSource.Step] {
    (0..<frames).map { .frame(sequence: UInt64($0)) }
      + [ScriptedSource.Step](repeating: .pause(nanoseconds: 1_000_000), count: 5000)
  }

  @Test(arguments: [false, true])
  func r4LentMemoryComesHomeOnceItsLastReaderHasPassed(isLive: Bool) throws {
    let tap = TapSink()
    tap.backlog = 64
    let source = ScriptedSource(Self.framesAndPauses(10), isLive: isLive, lends: true)
    source.endsWhenHome = 0
    _ = try run(source, [], sinks: [tap, RecordingSink()])
    expectEqual(source.leastOutstanding, 0)
  }

  @Test func r4LentMemoryStaysWhileAStageMayLookBackAtIt() throws {
    let source = ScriptedSource(Self.framesAndPauses(10), isLive: true, lends: true)
    source.endsWhenHome = 4
    let sink = RecordingSink()
    _ = try run(source, [FourBack.plugin], sinks: [sink, TapSink()])
    expectEqual(source.leastOutstanding, 4)
    expectEqual(sink.lines.count, 10)
  }

  @Test func r4ASlowSinkKeepsWhatItReads() throws {
    let sink = RecordingSink()
    sink.delay = { $0 % 5 == 0 ? 3_000_000 : 0 }
    let source = ScriptedSource(frames: 2000, isLive: true, lends: true)
    let summary = try run(source, [], sinks: [sink, TapSink()])
    expectFalse(sink.isTorn)
    expectEqual(sink.lines.count, 2000)
    expectTrue(summary.ledger.isBalanced)
  }

  @Test func theLedgerIsStoredLast() throws {
    let tap = TapSink()
    let summary = try run(ScriptedSource(Self.faults), sinks: [tap, RecordingSink("other")])
    expectEqual(tap.sealed, summary.ledger)
  }

  @Test func aSinkThatCannotStoreTheLedgerVouchesForNothing() throws {
    let tap = TapSink()
    tap.failsToSeal = true
    let summary = try run(ScriptedSource(frames: 5), sinks: [tap, RecordingSink("other")])
    expectEqual(summary.errors.map(\.description), ["tap: the disk is full; free some space"])
    expectEqual(summary.sinks[0].counts[.failed], 5)
    expectEqual(summary.sinks[1].counts[.delivered], 5)
  }

  @Test func r6ABacklogIsALineOfTheSum() throws {
    let tap = TapSink()
    tap.backlog = 31
    let live = try run(ScriptedSource(frames: 3, isLive: true), sinks: [tap])
    expectTrue(live.depth.contains { $0.holder == "backlog of sinks" && $0.frames == 31 })
  }
}
