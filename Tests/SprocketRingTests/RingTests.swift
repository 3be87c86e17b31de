// The ring, one step at a time on one thread: every expected value follows from the contract. The
// names begin with the rule of the design that they hold the ring to.

import SprocketRing
import TestExpectations
import Testing

/// Claims and publishes until `count` have been published in all; nil if there was no room.
private func publish(_ producer: inout Producer, upTo count: UInt64) -> Bool {
  while let (sequence, _) = producer.claim() {
    if sequence >= count { return true }
    producer.publish()
    if sequence + 1 == count { return true }
  }
  return false
}

private func pass(_ worker: inout Worker) -> UInt64? {
  guard case .frame(let sequence, _) = worker.next() else { return nil }
  worker.finish()
  return sequence
}

@Suite struct RingTests {
  @Test func r1HandsEverySequenceThroughASerialLaneInOrder() {
    let ring = makeRing(depth: 2, lanes: [.init(upstream: .source)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    expectEqual(worker.next(), .wait)
    for sequence in 0..<10 as Range<UInt64> {
      let claim = producer.claim()
      expectEqual(claim?.sequence, sequence)
      expectEqual(claim?.slot, Int(sequence % 2))
      expectEqual(worker.next(), .wait)
      producer.publish()
      expectEqual(worker.next(), .frame(sequence: sequence, slot: Int(sequence % 2)))
      worker.finish()
      expectEqual(ring.passed(.lane(0)), sequence + 1)
    }
  }

  @Test func r1PassesAParallelLaneOnlyWhenAllUpToASequenceAreDone() {
    let ring = makeRing(depth: 4, lanes: [.init(upstream: .source, workers: 3)])
    var producer = ring.makeProducer()
    var first = ring.makeWorker(lane: 0)
    var second = ring.makeWorker(lane: 0)
    var third = ring.makeWorker(lane: 0)
    expectTrue(publish(&producer, upTo: 4))
    expectEqual(first.next(), .frame(sequence: 0, slot: 0))
    expectEqual(second.next(), .frame(sequence: 1, slot: 1))
    expectEqual(third.next(), .frame(sequence: 2, slot: 2))
    third.finish()
    expectEqual(ring.passed(.lane(0)), 0)
    first.finish()
    expectEqual(ring.passed(.lane(0)), 1)
    expectEqual(first.next(), .frame(sequence: 3, slot: 3))
    first.finish()
    expectEqual(ring.passed(.lane(0)), 1)
    second.finish()
    expectEqual(ring.passed(.lane(0)), 4)
  }

  @Test func r2TakesASequenceOnceItsLookaheadHasPassedOrTheEpochHasEnded() {
    let ring = makeRing(depth: 4, lanes: [.init(upstream: .source, lookahead: 2)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    expectTrue(publish(&producer, upTo: 2))
    expectEqual(worker.next(), .wait)
    expectTrue(publish(&producer, upTo: 3))
    expectEqual(worker.next(), .frame(sequence: 0, slot: 0))
    expectEqual(ring.slot(at: 2), 2)
    worker.finish()
    expectEqual(worker.next(), .wait)
    producer.end()
    expectEqual(pass(&worker), 1)
    expectEqual(pass(&worker), 2)
    expectEqual(worker.next(), .end)
  }

  @Test func r2AddsUpTheLookaheadOfLanesThatFollowEachOther() {
    let ring = makeRing(
      depth: 8,
      lanes: [
        .init(upstream: .source, lookahead: 2), .init(upstream: .lane(0), lookahead: 1),
      ])
    var producer = ring.makeProducer()
    var first = ring.makeWorker(lane: 0)
    var second = ring.makeWorker(lane: 1)
    expectTrue(publish(&producer, upTo: 3))
    expectEqual(pass(&first), 0)
    expectEqual(first.next(), .wait)
    expectEqual(second.next(), .wait)
    expectTrue(publish(&producer, upTo: 4))
    expectEqual(pass(&first), 1)
    expectEqual(pass(&second), 0)
  }

  @Test func r3ReusesAPositionOnceEveryLaneHasPassedItByItsHistory() {
    let lanes: [RingPlan.Lane] = [
      .init(upstream: .source, history: 2), .init(upstream: .source),
    ]
    let ring = makeRing(depth: 4, lanes: lanes)
    var producer = ring.makeProducer()
    var long = ring.makeWorker(lane: 0)
    var short = ring.makeWorker(lane: 1)
    expectFalse(publish(&producer, upTo: 5))
    expectEqual(ring.passed(.source), 4)
    for sequence in 0..<3 as Range<UInt64> { expectEqual(pass(&short), sequence) }
    expectNil(producer.claim())
    for sequence in 0..<2 as Range<UInt64> { expectEqual(pass(&long), sequence) }
    expectNil(producer.claim())
    expectEqual(pass(&long), 2)
    expectEqual(producer.claim()?.sequence, 4)
    producer.publish()
    expectNil(producer.claim())
  }

  @Test func r3GivesTheSamePositionUntilItIsPublished() {
    let ring = makeRing(depth: 2, lanes: [.init(upstream: .source)])
    var producer = ring.makeProducer()
    let first = producer.claim()
    let again = producer.claim()
    expectEqual(first?.sequence, 0)
    expectEqual(again?.sequence, 0)
    expectEqual(first?.slot, again?.slot)
    expectEqual(ring.passed(.source), 0)
  }

  @Test func r3WaitsForAGatingTap() {
    let ring = makeRing(depth: 2, lanes: [], taps: [.init(upstream: .source, gates: true)])
    var producer = ring.makeProducer()
    var reader = ring.makeReader(tap: 0)
    expectFalse(publish(&producer, upTo: 3))
    expectEqual(reader.next(), .frame(sequence: 0, slot: 0))
    expectNil(producer.claim())
    reader.release()
    expectEqual(producer.claim()?.slot, 0)
    expectEqual(reader.next(), .frame(sequence: 1, slot: 1))
  }

  /// Worked out by hand. A lossy tap and a parked one hold nothing back, a gating tap does.
  @Test func aLevelCountsWhatHoldsTheSourceBack() {
    let ring = makeRing(
      depth: 6, lanes: [.init(upstream: .source, history: 1)],
      taps: [
        .init(upstream: .source, gates: true), .init(upstream: .source, gates: false),
        .init(upstream: .source, gates: true, parks: true),
      ])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    var gating = ring.makeReader(tap: 0)
    var parking = ring.makeReader(tap: 2)
    let parks = parking.park(since: parking.askCount)
    expectTrue(parks)
    expectTrue(publish(&producer, upTo: 4))
    expectLevel(ring, used: 4, free: 2)
    for _ in 0..<3 { _ = pass(&worker) }
    expectLevel(ring, used: 4, free: 2)
    for _ in 0..<2 {
      _ = gating.next()
      gating.release()
    }
    expectLevel(ring, used: 2, free: 4)
    for _ in 0..<2 {
      _ = gating.next()
      gating.release()
    }
    expectLevel(ring, used: 1, free: 4)
  }

  private func expectLevel(_ ring: Ring, used: Int, free: Int) {
    let level = ring.level
    expectEqual([level.depth, level.used, level.free], [6, used, free])
  }

  @Test func r4KeepsTheDeclaredHistoryOfTheFrameInHand() {
    let ring = makeRing(depth: 4, lanes: [.init(upstream: .source, history: 2)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    for sequence in 0..<100 as Range<UInt64> {
      while producer.claim() != nil { producer.publish() }
      guard case .frame(sequence, let slot) = worker.next() else {
        Issue.record("Sequence \(sequence) was to be next")
        return
      }
      expectEqual(ring.slot(at: sequence), slot)
      for earlier in sequence - min(2, sequence)..<sequence {
        expectEqual(ring.slot(at: earlier), Int(earlier % 4))
      }
      worker.finish()
    }
  }

  @Test func r6NeedsRoomForHistoryAndForTheLookaheadOfAllLanesBefore() {
    let plan = RingPlan(
      depth: 9,
      lanes: [
        .init(upstream: .source, lookahead: 3, history: 1),  // 4
        .init(upstream: .lane(0), lookahead: 2, history: 3),  // 3 + 2 + 3, the most
        .init(upstream: .source, history: 7),
        .init(upstream: .lane(1)),
      ],
      taps: [
        .init(upstream: .lane(3), gates: false), .init(upstream: .lane(3), gates: true),
        .init(upstream: .source, gates: false, latest: true),
      ])
    expectEqual(plan.minimumDepth, 9)
    expectEqual(plan.spareCount, 2)
    expectEqual(plan.slotCount, 11)
    expectEqual(makeRing(plan).slotCount, 11)
  }

  @Test func r6NeverGetsStuckAtTheLeastDepth() {
    let lanes: [RingPlan.Lane] = [
      .init(upstream: .source, lookahead: 3, history: 1),
      .init(upstream: .lane(0), lookahead: 2, history: 3),
    ]
    let ring = makeRing(depth: 9, lanes: lanes)
    var producer = ring.makeProducer()
    var first = ring.makeWorker(lane: 0)
    var second = ring.makeWorker(lane: 1)
    var passed: UInt64 = 0
    for _ in 0..<100 {
      while producer.claim() != nil { producer.publish() }
      while pass(&first) != nil {}
      while pass(&second) != nil { passed += 1 }
    }
    expectAtLeast(passed, 100)
  }

  @Test func r8DrainsToTheEndAndSaysSo() {
    let ring = makeRing(
      depth: 4, lanes: [.init(upstream: .source), .init(upstream: .lane(0), workers: 2)],
      taps: [.init(upstream: .lane(1), gates: true), .init(upstream: .lane(1), gates: false)])
    var producer = ring.makeProducer()
    var first = ring.makeWorker(lane: 0)
    var second = ring.makeWorker(lane: 1)
    var other = ring.makeWorker(lane: 1)
    var gating = ring.makeReader(tap: 0)
    var pinning = ring.makeReader(tap: 1)
    expectTrue(publish(&producer, upTo: 2))
    // Claimed, but not published: it lapses.
    expectNotNil(producer.claim())
    producer.end()
    expectEqual(second.next(), .wait)
    expectEqual(gating.next(), .wait)
    expectEqual(pass(&first), 0)
    expectEqual(pass(&first), 1)
    expectEqual(first.next(), .end)
    expectEqual(second.next(), .frame(sequence: 0, slot: 0))
    expectEqual(pass(&other), 1)
    expectEqual(other.next(), .end)
    expectEqual(gating.next(), .wait)
    second.finish()
    for sequence in 0..<2 as Range<UInt64> {
      expectEqual(gating.next(), .frame(sequence: sequence, slot: Int(sequence)))
      gating.release()
      expectEqual(pinning.next(), .frame(sequence: sequence, slot: Int(sequence)))
      pinning.release()
    }
    expectEqual(gating.next(), .end)
    expectEqual(pinning.next(), .end)
    expectNil(first.prepareToWait())
    expectNil(gating.prepareToWait())
  }

  @Test func r8EndsARingThatNeverHeldAFrame() {
    let ring = makeRing(
      depth: 3, lanes: [.init(upstream: .source, lookahead: 2)],
      taps: [.init(upstream: .lane(0), gates: false)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    var reader = ring.makeReader(tap: 0)
    producer.end()
    expectEqual(worker.next(), .end)
    expectEqual(reader.next(), .end)
  }

  @Test func r9BeginsEveryEpochWithoutHistoryAndEndsItWithoutLookahead() {
    // A ring is one epoch: whatever the one before did, sequences begin at 0 with nothing behind
    // them, and the last one has nothing ahead of it.
    let plan = RingPlan(
      depth: 5, lanes: [.init(upstream: .source, lookahead: 2, history: 2)])
    for _ in 0..<2 {
      let ring = makeRing(plan)
      var producer = ring.makeProducer()
      var worker = ring.makeWorker(lane: 0)
      expectTrue(publish(&producer, upTo: 4))
      producer.end()
      for sequence in 0..<4 as Range<UInt64> { expectEqual(pass(&worker), sequence) }
      expectEqual(worker.next(), .end)
      expectEqual(ring.passed(.source), 4)
      expectEqual(ring.passed(.lane(0)), 4)
    }
  }

  /// The source claims one sequence, and the next when the lane has passed it; what lies before and
  /// behind that lane is not held back by it.
  @Test func r3HoldsTheSourceBackToTheLeadOfALane() {
    let ring = makeRing(
      depth: 8,
      lanes: [
        .init(upstream: .source), .init(upstream: .lane(0), lead: 1), .init(upstream: .lane(1)),
      ])
    var producer = ring.makeProducer()
    var before = ring.makeWorker(lane: 0)
    var steering = ring.makeWorker(lane: 1)
    for sequence in 0..<5 as Range<UInt64> {
      expectTrue(publish(&producer, upTo: sequence + 1))
      expectNil(producer.claim())
      expectEqual(pass(&before), sequence)
      expectNil(producer.claim())
      expectNotNil(producer.prepareToWait())
      expectEqual(pass(&steering), sequence)
    }
    var behind = ring.makeWorker(lane: 2)
    expectEqual(pass(&behind), 0)
  }

  /// Look-ahead of 2 before the lane and of 1 in it: it takes a sequence when three more are there,
  /// and those come on top of the lead.
  @Test func r2LetsTheSourceLeadByTheLookAheadToo() {
    let ring = makeRing(
      depth: 8,
      lanes: [
        .init(upstream: .source, lookahead: 2), .init(upstream: .lane(0), lookahead: 1, lead: 1),
      ])
    var producer = ring.makeProducer()
    var before = ring.makeWorker(lane: 0)
    var steering = ring.makeWorker(lane: 1)
    for sequence in 0..<5 as Range<UInt64> {
      expectTrue(publish(&producer, upTo: sequence + 4))
      expectNil(producer.claim())
      while pass(&before) != nil {}
      expectEqual(pass(&steering), sequence)
      expectEqual(steering.next(), .wait)
    }
    producer.end()
    while pass(&before) != nil {}
    expectEqual([pass(&steering), pass(&steering), pass(&steering)], [5, 6, 7])
    expectEqual(steering.next(), .end)
  }
}
