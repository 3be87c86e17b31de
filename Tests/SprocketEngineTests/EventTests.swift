import SprocketCore
import SprocketEngine
import TestExpectations
import Testing

/// Records the events that it receives: ticket and frame of the event, and the frame that it came with.
struct Listener: PlainStage {
  static let order = Order.sequence
  private(set) var notes: [String] = []
  mutating func process(_ frame: inout FrameView) -> Verdict {
    for index in 0..<frame.eventCount {
      let event = frame.event(index)
      notes.append("\(event.ticket) \(event.number) \(frame.record.number)")
    }
    return .keep
  }
  static let plugin = Plugin("listener", "writes down the events it receives", Listener.self)
}

/// Writes down ticket and frame of each event, and the number that it was told with.
///
/// Unchecked: the engine uses it on one thread at a time, and tests look after the run.
private final class ListeningSink: Sink, @unchecked Sendable {
  let name: String
  private let taps: Bool
  private let latest: Bool
  var received: [String] = []
  init(_ name: String, taps: Bool = false, latest: Bool = false) {
    (self.name, self.taps, self.latest) = (name, taps, latest)
  }
  func configure(_ setup: inout SinkSetup) throws(RunError) {
    setup.tapsSource = taps
    setup.takesLatest = latest
  }
  private func receive(_ events: [Event], at number: UInt64) {
    for event in events { received.append("\(event.ticket) \(event.number) \(number)") }
  }
  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let events = (0..<frame.view.eventCount).map { frame.view.event($0) }
    receive(events, at: frame.record.number)
  }
  func account(_ lost: LostFrame) throws(RunError) { receive(lost.events, at: lost.number) }
}

@Suite struct EventTests {
  /// Each frame has two events, 2n and 2n + 1.
  private func source(
    _ steps: [ScriptedSource.Step], isLive: Bool = false
  ) -> ScriptedSource {
    let source = ScriptedSource(steps, isLive: isLive)
    var ticket: UInt64 = 0
    source.happens = { frame, events in
      for _ in 0..<2 {
        events.add(Event(kind: .controlApplied, ticket: ticket))
        ticket += 1
      }
    }
    return source
  }

  private func frames(_ count: UInt64, corrupt: (UInt64) -> Bool = { _ in false })
    -> [ScriptedSource.Step]
  {
    (0..<count).map { .frame(sequence: $0, corrupt: corrupt($0)) }
  }

  /// Ticket and number of each event, for frames 0 ..< count.
  private func all(_ count: UInt64) -> [String] {
    (0..<count).flatMap { ["\($0 * 2) \($0)", "\($0 * 2 + 1) \($0)"] }
  }

  private func head(_ line: String) -> String {
    line.split(separator: " ").prefix(2).joined(separator: " ")
  }

  @Test func e1WhatBelongsToDamagedOrDroppedFramesIsHeardOnceAndInOrder() throws {
    let record = ListeningSink("record")
    let tap = ListeningSink("tap", taps: true)
    let damaged: (UInt64) -> Bool = { $0 % 5 < 2 && $0 != 49 }
    let summary = try run(
      source(frames(50, corrupt: damaged)), [RejectThirds.plugin, Listener.plugin],
      sinks: [record, tap])
    // Frame 49 is the last one that is neither damaged nor rejected, so all events were received with it or
    // before.
    expectEqual(summary.notes.map(head), all(50))
    // e2: received with its own frame, or with the next one that arrives.
    let late = summary.notes.map { $0.split(separator: " ").compactMap { UInt64($0) } }
    for line in late {
      let next = (line[1]...).first { !damaged($0) && $0 % 3 != 2 }
      expectEqual(line[2], next)
    }
    // Sinks are told with the frame's own number, whatever became of it.
    let own = all(50).map { "\($0) \($0.split(separator: " ")[1])" }
    expectEqual(record.received, own)
    expectEqual(tap.received, own)
    expectEqual(summary.droppedEvents, 0)
  }

  @Test(arguments: [1, 4]) func e2AStageHearsNothingOfFramesThatComeLater(_ workers: Int) throws {
    let summary = try run(
      source(frames(500)), [Jitter.plugin, LookAround.plugin, Listener.plugin],
      sinks: [RecordingSink()], workers: workers)
    expectEqual(summary.notes, all(500).map { "\($0) \($0.split(separator: " ")[1])" })
  }

  @Test func e3AnEpochNeitherRepeatsNorLosesAnEvent() throws {
    let sink = ListeningSink("record")
    // The last frames of the first epoch, and the first of the second, are damaged.
    let steps =
      frames(10) { $0 >= 7 } + [.epoch(width: 16)] + frames(10) { $0 < 3 }
      + [.frame(sequence: 0)] + frames(5)
    let summary = try run(source(steps), [Listener.plugin], sinks: [sink])
    expectGreater(summary.epochs, 2)
    expectEqual(summary.notes.map(head), all(26))
    expectTrue(summary.notes.contains("14 7 13"))
    expectEqual(sink.received.map(head), all(26))
  }

  @Test func e1FramesWithoutRoomLoseNothing() throws {
    // Live, with a sink that wants the latest: frames are overrun, skipped and lapped.
    let sink = ListeningSink("latest", latest: true)
    let slow = RecordingSink("slow")
    slow.delay = { $0 % 16 == 0 ? 2_000_000 : 0 }
    let count: UInt64 = 1500
    let summary = try run(
      source(frames(count), isLive: true), [Jitter.plugin, Listener.plugin], sinks: [sink, slow])
    expectEqual(summary.droppedEvents, 0)
    expectEqual(sink.received, all(count).map { "\($0) \($0.split(separator: " ")[1])" })
    // What belongs to frames after the last that the stage got is told by sinks alone. Other notes are about
    // the frames without room.
    let received = summary.notes.filter { !$0.contains("found no room") }.map(head)
    expectEqual(received, Array(all(count).prefix(received.count)))
    expectGreater(received.count, 2)
  }

  @Test func e4WhatWasWrittenOverIsCounted() throws {
    let source = ScriptedSource(frames: 300)
    source.happens = { frame, events in
      for _ in 0..<EventQueue.capacity + 1 { events.add(Event(kind: .stalled)) }
    }
    // The stage sees none of the first 299 frames, which is 38,272 events, of which 4,096 are kept.
    let summary = try run(source, [OnlyAfter.plugin, Listener.plugin], sinks: [RecordingSink()])
    let kept = 4096
    expectEqual(summary.notes.count, kept)
    let all = 300 * EventQueue.capacity
    // 300 had no room in the queue; sinks may miss some too.
    expectAtLeast(summary.droppedEvents, UInt64(300 + all - kept))
  }
}

/// Keeps frame 299 alone.
private struct OnlyAfter: PlainStage {
  static let order = Order.sequence
  mutating func process(_ frame: inout FrameView) -> Verdict {
    frame.record.number < 299 ? .drop(.rejected) : .keep
  }
  static let plugin = Plugin("after", "keeps the last frame", OnlyAfter.self)
}
