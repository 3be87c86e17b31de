// Balance: what goes in comes out once, in order, with its contents intact, whatever the shape.
// SPROCKET_STRESS multiplies the counts.

import CSprocketSystem
import Glibc
import SprocketRing
import Synchronization
import TestExpectations
import Testing

@Suite(.serialized) struct RingStressTests {
  @Test(arguments: 1...3)
  func r1BalancesThroughSerialLanes(lanes: Int) {
    let plan = RingPlan(depth: 512, lanes: chain(of: [Int](repeating: 1, count: lanes)))
    expectBalance(plan, 100_000)
  }

  @Test(arguments: 1...8)
  func r1BalancesThroughAParallelLane(workers: Int) {
    expectBalance(RingPlan(depth: 512, lanes: chain(of: [workers])), 50_000)
    expectBalance(RingPlan(depth: workers + 1, lanes: chain(of: [workers])), 5_000)
  }

  @Test(arguments: [[1, 3, 1], [2, 4], [3, 1, 2], [2, 2, 2]])
  func r1BalancesThroughChainsOfBoth(workers: [Int]) {
    expectBalance(RingPlan(depth: 500, lanes: chain(of: workers)), 50_000)
    expectBalance(RingPlan(depth: 3, lanes: chain(of: workers)), 5_000)
  }

  @Test func r1BalancesThroughABranch() {
    let plan = RingPlan(
      depth: 300,
      lanes: [
        .init(upstream: .source), .init(upstream: .source, workers: 2), .init(upstream: .lane(0)),
        .init(upstream: .lane(1)),
      ])
    expectBalance(plan, 75_000)
  }

  @Test(arguments: [1, 3])
  func r2r4SeeTheirNeighboursAsTheLaneBeforeSealedThem(workers: Int) {
    var plan = RingPlan(
      depth: 1,
      lanes: [
        .init(upstream: .source, workers: workers, history: 1),
        .init(upstream: .lane(0), workers: workers, lookahead: 2, history: 3),
        .init(upstream: .lane(1), lookahead: 1, history: 2),
      ])
    for slack in [0, 1, 300] {
      plan.depth = plan.minimumDepth + slack
      expectBalance(plan, slack < 300 ? 5_000 : 50_000)
    }
  }

  @Test func r3LosesNothingToGatingTaps() {
    let plan = RingPlan(
      depth: 256, lanes: chain(of: [1, 2]),
      taps: [.init(upstream: .lane(1), gates: true), .init(upstream: .source, gates: true)])
    let count = stressed(100_000)
    let outcome = Traffic.run(plan, count: count)
    expectEqual(outcome.faults, Faults())
    expectEqual(outcome.taken, [count, count])
  }

  /// The source runs free: only the pins keep it from what the taps are reading.
  @Test(arguments: 1...3)
  func r5NeverTearsWhatATapHasPinned(taps: Int) {
    let tap = RingPlan.Tap(upstream: .source, gates: false)
    for depth in [1, 2, 16] {
      let plan = RingPlan(depth: depth, lanes: [], taps: .init(repeating: tap, count: taps))
      let outcome = Traffic.run(plan, count: stressed(150_000))
      expectEqual(outcome.faults, Faults())
      expectTrue(outcome.lapped.allSatisfy { $0 > 0 })
      expectTrue(outcome.taken.allSatisfy { $0 > 0 })
    }
  }

  @Test func r5TellsLappedAndLatestTapsOfEverySequenceOnce() {
    let plan = RingPlan(
      depth: 8,
      lanes: [.init(upstream: .source, workers: 2), .init(upstream: .lane(0), history: 3)],
      taps: [
        .init(upstream: .lane(1), gates: false),
        .init(upstream: .lane(1), gates: false, latest: true),
        .init(upstream: .source, gates: false),
        .init(upstream: .lane(0), gates: true),
      ])
    let count = stressed(100_000)
    let outcome = Traffic.run(plan, count: count)
    expectEqual(outcome.faults, Faults())
    expectEqual(outcome.taken[3], count)
    expectGreater(outcome.skipped[1], 0)
  }

  @Test(arguments: [[1], [2]])
  func r7WakesWhoeverParkedWithOnePositionOnly(workers: [Int]) {
    let plan = RingPlan(depth: 1, lanes: chain(of: workers))
    let outcome = expectBalance(plan, 20_000, dawdling: 2, patience: 0)
    expectGreater(outcome.parks, 0)
  }

  @Test func r7WakesASourceThatTwoLanesHoldUp() {
    let lane = RingPlan.Lane(upstream: .source)
    expectBalance(RingPlan(depth: 2, lanes: [lane, lane]), 20_000, dawdling: 2, patience: 0)
  }

  /// Early ends: every count from none to several times round the ring, with all that can be parked.
  @Test func r8DrainsWheneverTheSourceEnds() {
    let plan = RingPlan(
      depth: 7,
      lanes: [
        .init(upstream: .source, workers: 2), .init(upstream: .lane(0), lookahead: 2, history: 1),
      ],
      taps: [.init(upstream: .lane(1), gates: true), .init(upstream: .lane(1), gates: false)])
    for round in 0..<Int(stressed(1_000)) {
      let outcome = Traffic.run(plan, count: UInt64(round % 30), dawdling: 2, patience: 2)
      expectEqual(outcome.faults, Faults())
    }
  }

  /// Stopped at once, at any moment: nobody who is parked runs into his bound.
  @Test func r8LetsEverybodyGoWhenTheRunIsInterrupted() {
    let plan = RingPlan(
      depth: 4, lanes: chain(of: [1, 2]), taps: [.init(upstream: .lane(1), gates: true)])
    for round in 0..<Int(stressed(1_000)) {
      let ring = makeRing(plan)
      let stop = StopFlag()
      let bodies: [@Sendable () -> Bool] = [
        {
          var producer = ring.makeProducer()
          while !stop.isSet {
            if producer.claim() != nil {
              producer.publish()
            } else if !stop.park(producer.prepareToWait()) {
              return false
            }
          }
          return true
        },
        { stop.obey(ring.makeWorker(lane: 0)) },
        { stop.obey(ring.makeWorker(lane: 1)) },
        { stop.obey(ring.makeWorker(lane: 1)) },
        {
          var dice = Dice(seed: round + 1)
          for _ in 0..<round % 50 { dice.dawdle(oneIn: 1) }
          stop.set()
          ring.interrupt()
          return true
        },
      ]
      // Nobody reads the tap: sooner or later all are parked.
      expectTrue(runThreads(bodies).allSatisfy { $0 })
    }
  }

  /// A chain of lanes, each of so many workers.
  private func chain(of workers: [Int]) -> [RingPlan.Lane] {
    workers.enumerated().map { index, count in
      .init(upstream: index == 0 ? .source : .lane(index - 1), workers: count)
    }
  }

  @discardableResult
  private func expectBalance(
    _ plan: RingPlan, _ count: Int, dawdling: UInt64 = 64, patience: Int = 10,
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> Outcome {
    let outcome = Traffic.run(
      plan, count: stressed(count), dawdling: dawdling, patience: patience)
    expectEqual(outcome.faults, Faults(), sourceLocation: sourceLocation)
    return outcome
  }
}

/// What an engine would tell its threads to stop with.
private final class StopFlag: Sendable {
  private let flag = Atomic<Bool>(false)

  var isSet: Bool { flag.load(ordering: .acquiring) }

  func set() { flag.store(true, ordering: .releasing) }

  /// False if the wait ran into its bound.
  func park(_ ticket: WaitTicket?) -> Bool {
    guard let ticket, !isSet else { return true }
    let result = unsafe sprocket_futex_wait(
      ticket.event.address, ticket.value, Parker.boundNanoseconds)
    return result != -ETIMEDOUT
  }

  func obey(_ worker: consuming Worker) -> Bool {
    var worker = worker
    while !isSet {
      if case .frame = worker.next() {
        worker.finish()
      } else if !park(worker.prepareToWait()) {
        return false
      }
    }
    return true
  }
}
