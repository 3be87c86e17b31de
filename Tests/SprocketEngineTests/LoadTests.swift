import Glibc
import SprocketCore
import Synchronization
import Testing

@testable import SprocketEngine

@Suite struct LoadTests {
  /// Takes 2 ms for each frame, in several workers.
  struct Slow: PlainStage {
    static let order = Order.any
    mutating func process(_ frame: inout FrameView) -> Verdict {
      usleep(2_000)
      return .keep
    }
    static let plugin = Plugin("slow", "takes 2 ms", Slow.self)
  }

  /// `count` frames with a pause of 1 ms between two.
  private func steps(_ count: Int, from first: Int = 0) -> [ScriptedSource.Step] {
    (first..<first + count).flatMap { number -> [ScriptedSource.Step] in
      [.frame(sequence: UInt64(number)), .pause(nanoseconds: 1_000_000)]
    }
  }

  @Test func stepsAndSinksShowTheirFramesAndTimes() throws {
    let sink = RecordingSink()
    sink.delay = { _ in 4_000_000 }
    var load: RunLoad?
    _ = try run(
      ScriptedSource(frames: 30), [Slow.plugin, RejectThirds.plugin], sinks: [sink],
      after: { load = $0.load })
    let found = try #require(load)
    #expect(found.lanes.flatMap(\.steps).map(\.name) == ["slow", "thirds", "unpack"])
    #expect(found.lanes.map(\.workers) == [2, 1, 2])
    let slow = found.lanes[0].steps[0]
    let thirds = found.lanes[1].steps[0]
    #expect(slow.frames == 30 && slow.work >= .milliseconds(60))
    #expect(slow.cpuFrames > 14 && slow.cpu < slow.work / 2)
    #expect(thirds.frames == 30 && thirds.rejected == 10)
    #expect(found.lanes[2].steps[0].frames == 20)
    #expect(found.lost[.rejected] == 10)
    #expect(found.sinks.map(\.name) == ["record"])
    #expect(found.sinks[0].frames == 20 && found.sinks[0].work >= .milliseconds(80))
    // The chain is faster than the sink, so that frames wait for it.
    #expect(found.sinks[0].wait > .milliseconds(20))
    #expect(found.lanes.map(\.behind) == [0, 0, 0] && found.sinks[0].behind == 0)
    #expect(found.ring.used == 0 && found.ring.depth > 0)
  }

  @Test func aWaitBeginsWhenTheLaneBeforeIsDone() throws {
    var load: RunLoad?
    let summary = try run(
      ScriptedSource(frames: 10), [LongStep.plugin, RejectThirds.plugin], sinks: [RecordingSink()],
      after: { load = $0.load })
    let found = try #require(load)
    try #require(found.lanes.count == 3)
    let (long, thirds) = (found.lanes[0].steps[0], found.lanes[1].steps[0])
    #expect(long.name == "long" && long.work >= .milliseconds(200))
    // Time in the lane before is no wait.
    #expect(thirds.wait < long.work / 2)
    #expect(found.sinks[0].wait < long.work / 2)
    for step in found.lanes.flatMap(\.steps) {
      #expect(step.wait <= summary.elapsed * Int(step.frames))
    }
  }

  /// Takes 20 ms for each frame.
  struct LongStep: PlainStage {
    static let order = Order.any
    mutating func process(_ frame: inout FrameView) -> Verdict {
      usleep(20_000)
      return .keep
    }
    static let plugin = Plugin("long", "takes 20 ms", LongStep.self)
  }

  @Test func figuresOnlyGrowAndTheLevelStaysWithinTheRing() throws {
    let sink = RecordingSink()
    sink.delay = { _ in 500_000 }
    var loads: [(load: RunLoad, summary: RunSummary)] = []
    let summary = try run(
      ScriptedSource(steps(60) + [.epoch(width: 16)] + steps(60)), [Slow.plugin], sinks: [sink],
      during: { engine in
        while !engine.wait(for: .milliseconds(1)) { loads.append((engine.load, engine.summary)) }
        loads.append((engine.load, engine.summary))
      })
    #expect(summary.epochs == 2 && loads.count > 50)
    for (before, after) in zip(loads, loads.dropFirst()) {
      for (old, new) in zip(before.load.lanes, after.load.lanes) {
        for (old, new) in zip(old.steps, new.steps) {
          #expect(new.frames >= old.frames && new.work >= old.work && new.wait >= old.wait)
        }
      }
      #expect(after.load.sinks[0].frames >= before.load.sinks[0].frames)
      #expect(after.load.sinks[0].work >= before.load.sinks[0].work)
    }
    for (load, summary) in loads {
      #expect(0...load.ring.depth ~= load.ring.used && load.ring.free >= 0)
      #expect(load.ring.used + load.ring.free <= load.ring.depth)
      #expect(load.lanes.allSatisfy { $0.behind <= UInt64(load.ring.depth) })
      #expect(load.sinks[0].behind <= UInt64(load.ring.depth))
      #expect(summary.ledger.entries.allSatisfy { $0.counts.sum <= summary.ledger.produced })
    }
    #expect(loads.contains { $0.load.ring.used > 1 })
    #expect(loads.last?.load.lanes.first?.steps.first?.frames == 120)
  }

  @Test func aFullRingHasNoPositionFree() throws {
    let isOpen = Atomic<Bool>(false)
    let sink = RecordingSink()
    sink.delay = { _ in
      while !isOpen.load(ordering: .relaxed) { usleep(500) }
      return 0
    }
    _ = try run(
      ScriptedSource(frames: 100), [], sinks: [sink],
      during: { engine in
        // Offline the sink gates, and the source waits when the ring is full.
        var load = engine.load
        for _ in 0..<10_000 where load.ring.free > 0 {
          usleep(500)
          load = engine.load
        }
        #expect(load.ring.free == 0 && load.ring.used == load.ring.depth)
        #expect(load.sinks[0].behind == UInt64(load.ring.depth))
        isOpen.store(true, ordering: .relaxed)
      })
  }

  @Test func whatASinkMissesIsCountedWhileTheRunGoesOn() throws {
    let sink = RecordingSink()
    // The first frame takes long: a live source goes on, and this sink alone falls behind.
    sink.delay = { $0 == 0 ? 150_000_000 : 0 }
    var seen: FateCounts?
    let summary = try run(
      ScriptedSource(
        steps(100) + [.call { usleep(300_000) }, .frame(sequence: 100)], isLive: true),
      [], sinks: [sink],
      during: { engine in
        while !engine.wait(for: .milliseconds(5)) { seen = engine.summary.ledger.entries[0].counts }
      })
    let last = summary.ledger.entries[0].counts
    #expect(last[.behind] > 0)
    #expect(seen?[.behind] == last[.behind])
  }
}
