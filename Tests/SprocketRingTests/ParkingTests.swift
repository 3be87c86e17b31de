// Taps that park: between a request for frames and its end they get every sequence; in between they do not
// hold back the source.

import SprocketRing
import TestExpectations
import Testing

@Suite(.serialized) struct ParkingTests {
  @Test func aParkedTapIsToldOfNothingUntilItIsWoken() {
    let ring = makeRing(
      depth: 2, lanes: [], taps: [.init(upstream: .source, gates: true, parks: true)])
    var producer = ring.makeProducer()
    var reader = ring.makeReader(tap: 0)
    expectParks(&reader)
    for _ in 0..<5 {
      _ = producer.claim()
      producer.publish()
    }
    expect(&reader, .wait)
    expectEqual(ring.passed(tap: 0), .max)
    producer.wake(tap: 0)
    expectEqual(ring.passed(tap: 0), 5)
    expect(&reader, .wait)
    // It gates again: two fit, a third does not.
    for _ in 0..<2 {
      _ = producer.claim()
      producer.publish()
    }
    let third = producer.claim()
    expectNil(third)
    expect(&reader, .frame(sequence: 5, slot: ring.slot(at: 5)))
    reader.release()
    let later = producer.claim()
    expectEqual(later?.sequence, 7)
  }

  @Test func aTapThatWasAskedDoesNotPark() {
    let ring = makeRing(
      depth: 2, lanes: [], taps: [.init(upstream: .source, gates: false, parks: true)])
    var producer = ring.makeProducer()
    var reader = ring.makeReader(tap: 0)
    let count = reader.askCount
    producer.wake(tap: 0)
    let parks = reader.park(since: count)
    expectFalse(parks)
    expectParks(&reader)
  }

  @Test func aParkedTapEndsWhenItsUpstreamHasPassedTheEnd() {
    let ring = makeRing(
      depth: 2, lanes: [.init(upstream: .source)],
      taps: [.init(upstream: .lane(0), gates: true, parks: true)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    var reader = ring.makeReader(tap: 0)
    expectParks(&reader)
    _ = producer.claim()
    producer.publish()
    producer.end()
    expect(&reader, .wait)
    _ = worker.next()
    worker.finish()
    expect(&reader, .end)
  }

  @Test(arguments: [
    RingPlan(depth: 1, lanes: [], taps: [.init(upstream: .source, gates: true, parks: true)]),
    RingPlan(depth: 3, lanes: [], taps: [.init(upstream: .source, gates: false, parks: true)]),
    RingPlan(
      depth: 5,
      lanes: [
        .init(upstream: .source, workers: 2), .init(upstream: .lane(0), lookahead: 1, history: 2),
      ],
      taps: [
        .init(upstream: .lane(1), gates: true, parks: true),
        .init(upstream: .lane(0), gates: false, parks: true),
        .init(upstream: .lane(1), gates: true),
      ]),
  ])
  func aTapIsToldOfAllForWhichItWasAsked(plan: RingPlan) {
    // On a busy machine a tap that lags behind may have no time to park in one of the rounds.
    var idle = plan.taps.map { _ in false }
    for asking in [3, 40, 1000] as [UInt64] {
      let count = stressed(asking < 1000 ? 20_000 : 50_000)
      let outcome = Traffic.run(plan, count: count, patience: 0, asking: asking)
      expectEqual(outcome.faults, Faults())
      for tap in idle.indices where outcome.idle[tap] > 0 { idle[tap] = true }
    }
    expectEqual(idle, plan.taps.map(\.parks))
  }

  /// Ends at every moment of asking, with all that can be parked.
  @Test func aParkedTapEndsWheneverTheSourceEnds() {
    let plan = RingPlan(
      depth: 4, lanes: [.init(upstream: .source, workers: 2)],
      taps: [
        .init(upstream: .lane(0), gates: true, parks: true),
        .init(upstream: .lane(0), gates: false, parks: true),
      ])
    for round in 0..<Int(stressed(1_000)) {
      let outcome = Traffic.run(
        plan, count: UInt64(round % 30), dawdling: 2, patience: 2, asking: 2)
      expectEqual(outcome.faults, Faults())
    }
  }

  private func expectParks(_ reader: inout Reader) {
    let parks = reader.park(since: reader.askCount)
    expectTrue(parks)
  }

  private func expect(_ reader: inout Reader, _ expected: Reader.Step) {
    let step = reader.next()
    expectEqual(step, expected)
  }
}
