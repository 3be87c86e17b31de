// The ring, one step at a time on one thread: every expected value follows from the contract. The
// names begin with the rule of the design that they hold the ring to.

import SprocketRing
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
    #expect(worker.next() == .wait)
    for sequence in 0..<10 as Range<UInt64> {
      let claim = producer.claim()
      #expect(claim?.sequence == sequence)
      #expect(claim?.slot == Int(sequence % 2))
      #expect(worker.next() == .wait)
      producer.publish()
      #expect(worker.next() == .frame(sequence: sequence, slot: Int(sequence % 2)))
      worker.finish()
      #expect(ring.passed(.lane(0)) == sequence + 1)
    }
  }

  @Test func r1PassesAParallelLaneOnlyWhenAllUpToASequenceAreDone() {
    let ring = makeRing(depth: 4, lanes: [.init(upstream: .source, workers: 3)])
    var producer = ring.makeProducer()
    var first = ring.makeWorker(lane: 0)
    var second = ring.makeWorker(lane: 0)
    var third = ring.makeWorker(lane: 0)
    #expect(publish(&producer, upTo: 4))
    #expect(first.next() == .frame(sequence: 0, slot: 0))
    #expect(second.next() == .frame(sequence: 1, slot: 1))
    #expect(third.next() == .frame(sequence: 2, slot: 2))
    third.finish()
    #expect(ring.passed(.lane(0)) == 0)
    first.finish()
    #expect(ring.passed(.lane(0)) == 1)
    #expect(first.next() == .frame(sequence: 3, slot: 3))
    first.finish()
    #expect(ring.passed(.lane(0)) == 1)
    second.finish()
    #expect(ring.passed(.lane(0)) == 4)
  }

  @Test func r2TakesASequenceOnceItsLookaheadHasPassedOrTheEpochHasEnded() {
    let ring = makeRing(depth: 4, lanes: [.init(upstream: .source, lookahead: 2)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    #expect(publish(&producer, upTo: 2))
    #expect(worker.next() == .wait)
    #expect(publish(&producer, upTo: 3))
    #expect(worker.next() == .frame(sequence: 0, slot: 0))
    #expect(ring.slot(at: 2) == 2)
    worker.finish()
    #expect(worker.next() == .wait)
    producer.end()
    #expect(pass(&worker) == 1)
    #expect(pass(&worker) == 2)
    #expect(worker.next() == .end)
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
    #expect(publish(&producer, upTo: 3))
    #expect(pass(&first) == 0)
    #expect(first.next() == .wait)
    #expect(second.next() == .wait)
    #expect(publish(&producer, upTo: 4))
    #expect(pass(&first) == 1)
    #expect(pass(&second) == 0)
  }

  @Test func r3ReusesAPositionOnceEveryLaneHasPassedItByItsHistory() {
    let lanes: [RingPlan.Lane] = [
      .init(upstream: .source, history: 2), .init(upstream: .source),
    ]
    let ring = makeRing(depth: 4, lanes: lanes)
    var producer = ring.makeProducer()
    var long = ring.makeWorker(lane: 0)
    var short = ring.makeWorker(lane: 1)
    #expect(!publish(&producer, upTo: 5))
    #expect(ring.passed(.source) == 4)
    for sequence in 0..<3 as Range<UInt64> { #expect(pass(&short) == sequence) }
    #expect(producer.claim() == nil)
    for sequence in 0..<2 as Range<UInt64> { #expect(pass(&long) == sequence) }
    #expect(producer.claim() == nil)
    #expect(pass(&long) == 2)
    #expect(producer.claim()?.sequence == 4)
    producer.publish()
    #expect(producer.claim() == nil)
  }

  @Test func r3GivesTheSamePositionUntilItIsPublished() {
    let ring = makeRing(depth: 2, lanes: [.init(upstream: .source)])
    var producer = ring.makeProducer()
    let first = producer.claim()
    let again = producer.claim()
    #expect(first?.sequence == 0 && again?.sequence == 0)
    #expect(first?.slot == again?.slot)
    #expect(ring.passed(.source) == 0)
  }

  @Test func r3WaitsForAGatingTap() {
    let ring = makeRing(depth: 2, lanes: [], taps: [.init(upstream: .source, gates: true)])
    var producer = ring.makeProducer()
    var reader = ring.makeReader(tap: 0)
    #expect(!publish(&producer, upTo: 3))
    #expect(reader.next() == .frame(sequence: 0, slot: 0))
    #expect(producer.claim() == nil)
    reader.release()
    #expect(producer.claim()?.slot == 0)
    #expect(reader.next() == .frame(sequence: 1, slot: 1))
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
      #expect(ring.slot(at: sequence) == slot)
      for earlier in sequence - min(2, sequence)..<sequence {
        #expect(ring.slot(at: earlier) == Int(earlier % 4))
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
    #expect(plan.minimumDepth == 9)
    #expect(plan.spareCount == 2)
    #expect(plan.slotCount == 11)
    #expect(makeRing(plan).slotCount == 11)
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
    #expect(passed >= 100)
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
    #expect(publish(&producer, upTo: 2))
    // Claimed, but not published: it lapses.
    #expect(producer.claim() != nil)
    producer.end()
    #expect(second.next() == .wait)
    #expect(gating.next() == .wait)
    #expect(pass(&first) == 0)
    #expect(pass(&first) == 1)
    #expect(first.next() == .end)
    #expect(second.next() == .frame(sequence: 0, slot: 0))
    #expect(pass(&other) == 1)
    #expect(other.next() == .end)
    #expect(gating.next() == .wait)
    second.finish()
    for sequence in 0..<2 as Range<UInt64> {
      #expect(gating.next() == .frame(sequence: sequence, slot: Int(sequence)))
      gating.release()
      #expect(pinning.next() == .frame(sequence: sequence, slot: Int(sequence)))
      pinning.release()
    }
    #expect(gating.next() == .end)
    #expect(pinning.next() == .end)
    #expect(first.prepareToWait() == nil)
    #expect(gating.prepareToWait() == nil)
  }

  @Test func r8EndsARingThatNeverHeldAFrame() {
    let ring = makeRing(
      depth: 3, lanes: [.init(upstream: .source, lookahead: 2)],
      taps: [.init(upstream: .lane(0), gates: false)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    var reader = ring.makeReader(tap: 0)
    producer.end()
    #expect(worker.next() == .end)
    #expect(reader.next() == .end)
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
      #expect(publish(&producer, upTo: 4))
      producer.end()
      for sequence in 0..<4 as Range<UInt64> { #expect(pass(&worker) == sequence) }
      #expect(worker.next() == .end)
      #expect(ring.passed(.source) == 4)
      #expect(ring.passed(.lane(0)) == 4)
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
      #expect(publish(&producer, upTo: sequence + 1))
      #expect(producer.claim() == nil)
      #expect(pass(&before) == sequence)
      #expect(producer.claim() == nil)
      #expect(producer.prepareToWait() != nil)
      #expect(pass(&steering) == sequence)
    }
    var behind = ring.makeWorker(lane: 2)
    #expect(pass(&behind) == 0)
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
      #expect(publish(&producer, upTo: sequence + 4))
      #expect(producer.claim() == nil)
      while pass(&before) != nil {}
      #expect(pass(&steering) == sequence)
      #expect(steering.next() == .wait)
    }
    producer.end()
    while pass(&before) != nil {}
    #expect([pass(&steering), pass(&steering), pass(&steering)] == [5, 6, 7])
    #expect(steering.next() == .end)
  }
}
