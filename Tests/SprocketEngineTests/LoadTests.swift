import Glibc
import SprocketCore
import Synchronization
import TestExpectations
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
    sink.delay = { _ in 20_000_000 }
    var load: RunLoad?
    _ = try run(
      ScriptedSource(frames: 30), [Slow.plugin, RejectThirds.plugin], sinks: [sink],
      after: { load = $0.load })
    let found = try #require(load)
    expectEqual(found.lanes.flatMap(\.steps).map(\.name), ["slow", "thirds", "unpack"])
    expectEqual(found.lanes.map(\.workers), [2, 1, 2])
    let slow = found.lanes[0].steps[0]
    let thirds = found.lanes[1].steps[0]
    expectEqual(slow.frames, 30)
    expectAtLeast(slow.work, .milliseconds(60))
    expectGreater(slow.cpuFrames, 14)
    expectLess(slow.cpu, slow.work / 2)
    expectEqual(thirds.frames, 30)
    expectEqual(thirds.rejected, 10)
    expectEqual(found.lanes[2].steps[0].frames, 20)
    expectEqual(found.lost[.rejected], 10)
    expectEqual(found.sinks.map(\.name), ["record"])
    expectTrue(found.sinks[0].frames == 20 && found.sinks[0].work >= .milliseconds(400))
    // The chain is faster than the sink, so that frames wait for it.
    expectGreater(found.sinks[0].wait, .milliseconds(20))
    expectTrue(found.lanes.map(\.behind) == [0, 0, 0] && found.sinks[0].behind == 0)
    expectEqual(found.ring.used, 0)
    expectGreater(found.ring.depth, 0)
  }

  @Test func aWaitBeginsWhenTheLaneBeforeIsDone() throws {
    var load: RunLoad?
    let summary = try run(
      ScriptedSource(frames: 5), [LongStep.plugin, RejectThirds.plugin], sinks: [RecordingSink()],
      after: { load = $0.load })
    let found = try #require(load)
    try #require(found.lanes.count == 3)
    let (long, thirds) = (found.lanes[0].steps[0], found.lanes[1].steps[0])
    expectEqual(long.name, "long")
    expectAtLeast(long.work, .milliseconds(500))
    // Time in the lane before is no wait. A busy machine takes some to wake a thread.
    expectLess(thirds.wait, long.work / 2)
    expectLess(found.sinks[0].wait, long.work / 2)
    for step in found.lanes.flatMap(\.steps) {
      expectAtMost(step.wait, summary.elapsed * Int(step.frames))
    }
  }

  /// Takes 100 ms for each frame.
  struct LongStep: PlainStage {
    static let order = Order.any
    mutating func process(_ frame: inout FrameView) -> Verdict {
      usleep(100_000)
      return .keep
    }
    static let plugin = Plugin("long", "takes 100 ms", LongStep.self)
  }

  @Test func figuresOnlyGrowAndTheLevelStaysWithinTheRing() throws {
    let sink = RecordingSink()
    let looks = Atomic<Int>(0)
    // Every other frame waits for a look of its own.
    sink.delay = { number in
      _ = waitUntil { looks.load(ordering: .relaxed) >= Int(number) / 2 }
      return 500_000
    }
    var loads: [(load: RunLoad, summary: RunSummary)] = []
    let summary = try run(
      ScriptedSource(steps(60) + [.epoch(width: 16)] + steps(60)), [Slow.plugin], sinks: [sink],
      during: { engine in
        while !engine.wait(for: .milliseconds(1)) {
          loads.append((engine.load, engine.summary))
          looks.add(1, ordering: .relaxed)
        }
        loads.append((engine.load, engine.summary))
      })
    expectEqual(summary.epochs, 2)
    expectGreater(loads.count, 50)
    for (before, after) in zip(loads, loads.dropFirst()) {
      for (old, new) in zip(before.load.lanes, after.load.lanes) {
        for (old, new) in zip(old.steps, new.steps) {
          expectAtLeast(new.frames, old.frames)
          expectAtLeast(new.work, old.work)
          expectAtLeast(new.wait, old.wait)
        }
      }
      expectAtLeast(after.load.sinks[0].frames, before.load.sinks[0].frames)
      expectAtLeast(after.load.sinks[0].work, before.load.sinks[0].work)
    }
    for (load, summary) in loads {
      expectTrue(0...load.ring.depth ~= load.ring.used)
      expectAtLeast(load.ring.free, 0)
      expectAtMost(load.ring.used + load.ring.free, load.ring.depth)
      expectTrue(load.lanes.allSatisfy { $0.behind <= UInt64(load.ring.depth) })
      expectAtMost(load.sinks[0].behind, UInt64(load.ring.depth))
      expectTrue(summary.ledger.entries.allSatisfy { $0.counts.sum <= summary.ledger.produced })
    }
    expectTrue(loads.contains { $0.load.ring.used > 1 })
    expectEqual(loads.last?.load.lanes.first?.steps.first?.frames, 120)
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
        _ = waitUntil {
          load = engine.load
          return load.ring.free == 0 && load.sinks[0].behind == UInt64(load.ring.depth)
        }
        expectEqual(load.ring.free, 0)
        expectEqual(load.ring.used, load.ring.depth)
        expectEqual(load.sinks[0].behind, UInt64(load.ring.depth))
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
    expectGreater(last[.behind], 0)
    expectEqual(seen?[.behind], last[.behind])
  }
}
