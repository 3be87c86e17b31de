// Taps that the source does not wait for, one step at a time on one thread.

import SprocketRing
import TestExpectations
import Testing

private func publish(_ producer: inout Producer, _ count: Int) -> [Int] {
  (0..<count).map { _ in
    let slot = producer.claim()?.slot ?? -1
    producer.publish()
    return slot
  }
}

@Suite struct ReaderTests {
  /// Depth 2 and a spare: slots 0, 1, and 2.
  @Test func r5SwapsInASpareForAPinnedSlot() {
    let ring = makeRing(depth: 2, lanes: [], taps: [.init(upstream: .source, gates: false)])
    var producer = ring.makeProducer()
    var reader = ring.makeReader(tap: 0)
    expectEqual(publish(&producer, 2), [0, 1])
    expectEqual(reader.next(), .frame(sequence: 0, slot: 0))
    // 2 would reuse slot 0, so it takes the spare; 4 reuses that one, and so on.
    expectEqual(publish(&producer, 5), [2, 1, 2, 1, 2])
    reader.release()
    // 7 published: 5 and 6 are there, the next claim takes the slot of 5.
    expectEqual(reader.next(), .lapped(1..<5))
    expectEqual(reader.next(), .frame(sequence: 5, slot: 1))
    // Slot 0 has been let go, so it is the spare now.
    expectEqual(publish(&producer, 3), [0, 2, 0])
    reader.release()
    expectEqual(reader.next(), .lapped(6..<8))
    expectEqual(reader.next(), .frame(sequence: 8, slot: 2))
    reader.release()
    expectEqual(reader.next(), .frame(sequence: 9, slot: 0))
    reader.release()
    expectEqual(reader.next(), .wait)
  }

  @Test func r5HasASpareForEveryTapAtOnce() {
    let taps = [RingPlan.Tap](repeating: .init(upstream: .source, gates: false), count: 3)
    let ring = makeRing(depth: 2, lanes: [], taps: taps)
    var producer = ring.makeProducer()
    var first = ring.makeReader(tap: 0)
    var second = ring.makeReader(tap: 1)
    var third = ring.makeReader(tap: 2)
    expectEqual(publish(&producer, 1), [0])
    expectEqual(first.next(), .frame(sequence: 0, slot: 0))
    expectEqual(publish(&producer, 2), [1, 2])
    expectEqual(second.next(), .lapped(0..<1))
    expectEqual(second.next(), .frame(sequence: 1, slot: 1))
    expectEqual(publish(&producer, 1), [3])
    expectEqual(third.next(), .lapped(0..<2))
    expectEqual(third.next(), .frame(sequence: 2, slot: 2))
    expectEqual(publish(&producer, 1), [4])
    // All three are pinned: slots 3 and 4 take turns.
    expectEqual(publish(&producer, 4), [3, 4, 3, 4])
    second.release()
    third.release()
    first.release()
    expectEqual(first.next(), .lapped(1..<7))
    expectEqual(first.next(), .frame(sequence: 7, slot: 3))
  }

  @Test func r5LosesTheOldestFramesAndNotOneMore() {
    let ring = makeRing(depth: 4, lanes: [], taps: [.init(upstream: .source, gates: false)])
    var producer = ring.makeProducer()
    var reader = ring.makeReader(tap: 0)
    _ = publish(&producer, 10)
    // 6 to 9 are there as long as 10 has not been claimed.
    expectEqual(reader.next(), .lapped(0..<6))
    expectEqual(producer.claim()?.sequence, 10)
    expectEqual(reader.next(), .lapped(6..<7))
    expectEqual(reader.next(), .frame(sequence: 7, slot: 3))
  }

  @Test func r5KeepsABacklogForTapsWithTheHistoryOfTheirLane() {
    let ring = makeRing(
      depth: 4, lanes: [.init(upstream: .source, history: 2)],
      taps: [.init(upstream: .lane(0), gates: false)])
    var producer = ring.makeProducer()
    var worker = ring.makeWorker(lane: 0)
    var reader = ring.makeReader(tap: 0)
    for _ in 0..<10 {
      while producer.claim() != nil { producer.publish() }
      guard case .frame = worker.next() else { break }
      worker.finish()
    }
    while producer.claim() != nil { producer.publish() }
    // The lane passed 10, and 2 behind it are kept, however full the ring.
    expectEqual(ring.passed(.lane(0)), 10)
    expectEqual(reader.next(), .lapped(0..<8))
    expectEqual(reader.next(), .frame(sequence: 8, slot: 0))
  }

  @Test func r5SkipsToTheNewestByChoice() {
    let ring = makeRing(
      depth: 4, lanes: [], taps: [.init(upstream: .source, gates: false, latest: true)])
    var producer = ring.makeProducer()
    var reader = ring.makeReader(tap: 0)
    _ = publish(&producer, 1)
    expectEqual(reader.next(), .frame(sequence: 0, slot: 0))
    reader.release()
    _ = publish(&producer, 3)
    expectEqual(reader.next(), .skipped(1..<3))
    expectEqual(reader.next(), .frame(sequence: 3, slot: 3))
    _ = publish(&producer, 20)
    reader.release()
    expectEqual(reader.next(), .skipped(4..<23))
    expectEqual(reader.next(), .frame(sequence: 23, slot: 4))
    reader.release()
    producer.end()
    expectEqual(reader.next(), .end)
  }

  @Test func r5TakesWhatItSkippedToBeforeItSkipsAgain() {
    let ring = makeRing(
      depth: 4, lanes: [], taps: [.init(upstream: .source, gates: false, latest: true)])
    var producer = ring.makeProducer()
    var reader = ring.makeReader(tap: 0)
    _ = publish(&producer, 2)
    expectEqual(reader.next(), .skipped(0..<1))
    _ = publish(&producer, 2)
    expectEqual(reader.next(), .frame(sequence: 1, slot: 1))
    reader.release()
    expectEqual(reader.next(), .skipped(2..<3))
    _ = publish(&producer, 8)
    expectEqual(reader.next(), .lapped(3..<8))
    expectEqual(reader.next(), .skipped(8..<11))
    expectEqual(reader.next(), .frame(sequence: 11, slot: 3))
  }

  @Test func r8DrainsWhatIsStillThereAfterTheEnd() {
    let ring = makeRing(depth: 2, lanes: [], taps: [.init(upstream: .source, gates: false)])
    var producer = ring.makeProducer()
    var reader = ring.makeReader(tap: 0)
    _ = publish(&producer, 5)
    producer.end()
    expectEqual(reader.next(), .lapped(0..<3))
    expectEqual(reader.next(), .frame(sequence: 3, slot: 1))
    reader.release()
    expectEqual(reader.next(), .frame(sequence: 4, slot: 0))
    reader.release()
    expectEqual(reader.next(), .end)
  }
}
