// Who may park, and who is called when a cursor moves.

import Glibc
import SprocketRing
import Synchronization
import TestExpectations
import Testing

@Suite struct WaitingTests {
  private final class Wakes: Sendable {
    let count = Atomic<Int>(0)
  }

  private func makeCountedRing(_ wakes: Wakes, depth: Int, lanes: [RingPlan.Lane]) -> Ring {
    Ring(RingPlan(depth: depth, lanes: lanes)) { _ in wakes.count.add(1, ordering: .relaxed) }
  }

  @Test func r7CallsWakeOnlyForThoseWhoHaveAnnouncedThemselves() {
    let wakes = Wakes()
    let ring = makeCountedRing(wakes, depth: 4, lanes: [.init(upstream: .source)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    _ = producer.claim()
    producer.publish()
    expectEqual(wakes.count.load(ordering: .relaxed), 0)
    expectEqual(worker.next(), .frame(sequence: 0, slot: 0))
    worker.finish()
    expectNotNil(worker.prepareToWait())
    _ = producer.claim()
    producer.publish()
    expectEqual(wakes.count.load(ordering: .relaxed), 1)
    _ = producer.claim()
    producer.publish()
    expectEqual(wakes.count.load(ordering: .relaxed), 1)
  }

  @Test func r7TurnsAwayWhoeverAnnouncedHimselfBeforeTheCursorMoved() throws {
    let ring = makeRing(depth: 4, lanes: [.init(upstream: .source)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    let offered = worker.prepareToWait()
    let ticket = try #require(offered)
    _ = producer.claim()
    producer.publish()
    // The kernel compares: it would not let him sleep.
    let word = unsafe ticket.event.address.load(as: UInt32.self)
    expectUnequal(word, ticket.value)
  }

  @Test func r7GivesNoTicketWhenThereIsSomethingToDo() {
    let ring = makeRing(depth: 1, lanes: [.init(upstream: .source)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    expectNil(producer.prepareToWait())
    _ = producer.claim()
    producer.publish()
    expectNil(worker.prepareToWait())
    expectEqual(worker.next(), .frame(sequence: 0, slot: 0))
    expectNil(producer.claim())
    worker.finish()
    expectNil(producer.prepareToWait())
    expectNotNil(producer.claim())
  }

  @Test func r7DoesNotLetTheSourceWaitForALaneThatNoLongerHoldsItUp() {
    let wakes = Wakes()
    let ring = makeCountedRing(
      wakes, depth: 2, lanes: [.init(upstream: .source), .init(upstream: .source)])
    var producer = ring.makeProducer()
    var first = ring.makeWorker(lane: 0)
    var second = ring.makeWorker(lane: 1)
    for _ in 0..<2 {
      _ = producer.claim()
      producer.publish()
    }
    expectNil(producer.claim())
    // Lane 0 was the one to wait for; now it is lane 1.
    expectEqual(first.next(), .frame(sequence: 0, slot: 0))
    first.finish()
    expectNil(producer.prepareToWait())
    expectNil(producer.claim())
    expectNotNil(producer.prepareToWait())
    expectEqual(second.next(), .frame(sequence: 0, slot: 0))
    let before = wakes.count.load(ordering: .relaxed)
    second.finish()
    expectEqual(wakes.count.load(ordering: .relaxed), before + 1)
    expectNotNil(producer.claim())
  }

  @Test func r8WakesEverybodyAtTheEnd() {
    let wakes = Wakes()
    let ring = makeCountedRing(
      wakes, depth: 2, lanes: [.init(upstream: .source), .init(upstream: .lane(0))])
    var producer = ring.makeProducer()
    var first = ring.makeWorker(lane: 0)
    var second = ring.makeWorker(lane: 1)
    expectNotNil(first.prepareToWait())
    expectNotNil(second.prepareToWait())
    producer.end()
    expectEqual(wakes.count.load(ordering: .relaxed), 2)
  }

  @Test func r8WakesEverybodyWhoIsToStopAtOnce() {
    let wakes = Wakes()
    let ring = makeCountedRing(wakes, depth: 1, lanes: [.init(upstream: .source)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    expectNotNil(worker.prepareToWait())
    ring.interrupt()
    expectEqual(wakes.count.load(ordering: .relaxed), 1)
    _ = producer.claim()
    producer.publish()
    expectNil(producer.claim())
    expectNotNil(producer.prepareToWait())
    ring.interrupt()
    expectEqual(wakes.count.load(ordering: .relaxed), 2)
  }

  /// Two threads that hand one position to and fro, so that each announces itself just when the other
  /// moves its cursor. They park in user space, where a hand-over takes a tenth of a microsecond: the
  /// kernel would be too slow for the race to be lost. Bites in a release build, SPROCKET_STRESS=5.
  @Test func r7LosesNoWakeUpWhenAnnouncingAndMovingCollide() {
    let count = stressed(10_000)
    let ring = Ring(RingPlan(depth: 1, lanes: [.init(upstream: .source)])) { _ in }
    let lounge = Lounge()
    let bodies: [@Sendable () -> Bool] = [
      {
        var producer = ring.makeProducer()
        for sequence in 0..<count {
          while producer.claim() == nil {
            let ticket = producer.prepareToWait()
            guard lounge.wait(ticket, until: { ring.passed(.lane(0)) == sequence }) else {
              return false
            }
          }
          producer.publish()
        }
        return true
      },
      {
        var worker = ring.makeWorker(lane: 0)
        for sequence in 0..<count {
          while worker.next() == .wait {
            let ticket = worker.prepareToWait()
            guard lounge.wait(ticket, until: { ring.passed(.source) > sequence }) else {
              return false
            }
          }
          worker.finish()
        }
        return true
      },
    ]
    expectEqual(runThreads(bodies), [true, true])
  }
}

/// Where threads park in user space.
private final class Lounge: Sendable {
  private let isClosed = Atomic<Bool>(false)

  /// Waits until the word has changed. False if it does not, though there has been something to do
  /// for a minute: the wake-up was lost.
  func wait(_ ticket: WaitTicket?, until thereIsSomethingToDo: () -> Bool) -> Bool {
    guard let ticket else { return true }
    let word = unsafe ticket.event.address.assumingMemoryBound(to: Atomic<UInt32>.self)
    var overdue = 0
    var rounds = 0
    while unsafe word.pointee.load(ordering: .acquiring) == ticket.value {
      if isClosed.load(ordering: .relaxed) { return false }
      if thereIsSomethingToDo() {
        overdue += 1
        if overdue > 100 { usleep(1_000) }
        if overdue == 60_000 { isClosed.store(true, ordering: .relaxed) }
      } else {
        spinHint()
        rounds += 1
      }
    }
    return true
  }
}
