import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

/// A sink that rests until it is told otherwise.
///
/// Unchecked: the engine uses it on one thread, and tests look after the run.
private final class Rester: RestingSink, @unchecked Sendable {
  let name = "rester"
  let longestRest: Duration
  let needsFrames = Atomic<Bool>(false)
  let idles = Atomic<Int>(0)
  /// Calls of `rest` that were told of frames.
  let looks = Atomic<Int>(0)
  let ends = Atomic<Int>(0)
  let count = Atomic<Int>(0)
  var numbers: [UInt64] = []
  var lost: [UInt64] = []
  var tickets: [UInt64] = []
  var engine: Engine?
  var source: ScriptedSource?
  private var mark = NewsMark()

  init(longestRest: Duration = .seconds(3600)) { self.longestRest = longestRest }

  func configure(_ setup: inout SinkSetup) {}

  var needsNoFrame: Bool { !needsFrames.load(ordering: .acquiring) }

  func write(_ frame: borrowing PackedFrame) {
    numbers.append(frame.record.number)
    for index in 0..<frame.view.eventCount { tickets.append(frame.view.event(index).ticket) }
    count.wrappingAdd(1, ordering: .releasing)
  }

  func account(_ lost: LostFrame) {
    self.lost.append(lost.number)
    tickets += lost.events.map(\.ticket)
  }

  func rest(hasFrames: Bool) {
    if hasFrames { looks.wrappingAdd(1, ordering: .releasing) }
    for case .ended in engine?.news(since: &mark) ?? [] {
      ends.wrappingAdd(1, ordering: .releasing)
    }
    idles.wrappingAdd(1, ordering: .releasing)
  }

  /// Gets the frames that follow.
  func wake() {
    needsFrames.store(true, ordering: .releasing)
    engine?.wake(name)
  }

  /// Needs no frame after `count` frames, and rests when this returns.
  func rest(after count: Int) {
    wait { self.count.load(ordering: .acquiring) == count }
    let idles = idles.load(ordering: .acquiring)
    needsFrames.store(false, ordering: .releasing)
    wait { self.idles.load(ordering: .acquiring) > idles }
  }
}

/// Blocks the chain at the first frame until the test releases it. Its state is static: one test alone may
/// use it.
private struct Held: PlainStage {
  static let order = Order.any
  static let isLetGo = Atomic<Bool>(false)
  static let passed = Atomic<UInt64>(0)
  mutating func process(_ frame: inout FrameView) -> Verdict {
    wait { Self.isLetGo.load(ordering: .acquiring) }
    Self.passed.wrappingAdd(1, ordering: .releasing)
    return .keep
  }
  static let plugin = Plugin("held", "waits for the test", Held.self)
}

/// Waits until `condition` holds, and expects that it does.
private func wait(_ condition: () -> Bool) { expectTrue(waitUntil(condition)) }

/// Of the contract of requests: A22, sinks that rest.
@Suite struct RestTests {
  /// The script begins when the sink rests.
  private func run(
    _ sink: Rester, _ steps: [ScriptedSource.Step], _ stages: [Plugin] = [],
    beside others: [any Sink] = [], isLive: Bool = false,
    happens: @escaping (ArrivedFrame, inout EventQueue) -> Void = { _, _ in }
  ) throws -> FateCounts {
    let begin = ScriptedSource.Step.call { wait { sink.idles.load(ordering: .acquiring) > 0 } }
    let source = ScriptedSource([begin] + steps, isLive: isLive)
    source.happens = happens
    sink.source = source
    let summary = try SprocketEngineTests.run(
      source, stages, sinks: [sink] + others, before: { sink.engine = $0 },
      after: { _ in
        sink.engine = nil
        sink.source = nil
      })
    let counts = summary.ledger.entries.first { $0.sink == sink.name }?.counts
    return try #require(counts)
  }

  @Test func a22ASinkThatIsWokenGetsTheNextFrameWithItsEvents() throws {
    let sink = Rester()
    let counts = try run(
      sink, .frames(0..<100) + [.call { sink.wake() }] + .frames(100..<200)
    ) { frame, events in events.add(Event(kind: .controlApplied, ticket: frame.sequence)) }
    expectEqual(sink.numbers, Array(100..<200))
    expectEqual(sink.tickets, Array(100..<200))
    expectEqual(sink.lost, [])
    expectEqual(counts[.unselected], 100)
    expectEqual(counts[.delivered], 100)
  }

  @Test func a22WhatRestsIsWokenByNoFrame() throws {
    let sink = Rester()
    let steps = (0..<100).flatMap { number -> [ScriptedSource.Step] in
      [.pause(nanoseconds: 2_000_000), .frame(sequence: UInt64(number))]
    }
    let counts = try run(sink, steps, isLive: true)
    // When it begins to rest, and at the end.
    expectLess(sink.idles.load(ordering: .relaxed), 10)
    expectEqual(counts[.unselected], 100)
  }

  @Test func a22ASinkRestsAgainWhenItNeedsNothing() throws {
    let sink = Rester()
    var steps: [ScriptedSource.Step] = []
    for turn in 0..<10 {
      let first = UInt64(turn) * 100
      steps += .frames(first..<first + 50) + [.call { sink.wake() }]
      steps += .frames(first + 50..<first + 100) + [.call { sink.rest(after: (turn + 1) * 50) }]
    }
    let counts = try run(sink, steps)
    expectEqual(sink.numbers, (0..<1000).filter { $0 % 100 >= 50 })
    expectEqual(counts[.unselected], 500)
  }

  @Test func a22NewsWakeASinkThatRests() throws {
    let (sink, movie) = (Rester(), MemoryRecorder())
    var steps: [ScriptedSource.Step] = []
    for take in 1...20 {
      let first = UInt64(take) * 10
      // It rests over epochs, too.
      if take % 3 == 0 { steps += [.epoch(width: 8 * (1 + take % 2))] }
      steps += [.call { _ = try? sink.engine?.ask([.record(sink: "movie", frames: 5)]) }]
      steps += .frames(first..<first + 10)
      steps += [.call { wait { sink.ends.load(ordering: .acquiring) == take } }]
    }
    let counts = try run(sink, steps, beside: [movie])
    expectEqual(movie.contents.count, 20)
    expectEqual(counts[.unselected] + counts[.delivered], 200)
    expectEqual(sink.lost, [])
  }

  /// The chain takes no frame until 400 have come, so that the first 300 after the call are lost.
  @Test func a22ASinkGetsTheEventsOfFramesThatItMisses() throws {
    let sink = Rester()
    let letGo = ScriptedSource.Step.call {
      Held.isLetGo.store(true, ordering: .releasing)
      wait {
        Held.passed.load(ordering: .acquiring) == sink.source?.taken.load(ordering: .relaxed)
      }
    }
    let counts = try run(
      sink,
      .frames(0..<100) + [.call { sink.wake() }] + .frames(100..<400) + [letGo]
        + .frames(400..<410), [Held.plugin], isLive: true
    ) { frame, events in events.add(Event(kind: .controlApplied, ticket: frame.sequence)) }
    expectGreater(counts[.overrun], 0)
    let last = try #require(sink.tickets.last)
    expectAtLeast(last, 400)
    expectEqual(sink.tickets, Array(100...last))
  }

  @Test func a22ASinkRestsOverAChangeOfFormat() throws {
    let sink = Rester()
    let counts = try run(
      sink,
      .frames(0..<50) + [.epoch(width: 16)] + .frames(50..<100) + [.call { sink.wake() }]
        + .frames(100..<150))
    expectEqual(sink.numbers.suffix(50), Array(100..<150))
    expectEqual(counts[.unselected] + counts[.delivered], 150)
    expectEqual(sink.lost, [])
  }

  @Test func aSinkThatRestsIsTimed() throws {
    let sink = Rester(longestRest: .milliseconds(1))
    let later = ScriptedSource.Step.call { wait { sink.idles.load(ordering: .acquiring) > 10 } }
    let seen = ScriptedSource.Step.call { wait { sink.looks.load(ordering: .acquiring) == 1 } }
    _ = try run(sink, [later, .frame(sequence: 0), seen])
    expectEqual(sink.numbers, [])
    expectEqual(sink.looks.load(ordering: .relaxed), 1)
  }
}
