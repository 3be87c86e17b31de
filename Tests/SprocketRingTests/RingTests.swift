// The ring, one step at a time on one thread: every expected value follows from the contract.

import SprocketRing
import Testing

@Suite struct RingTests {
  @Test func handsEverySequenceThroughASerialLaneInOrder() {
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
    producer.end()
    #expect(worker.next() == .end)
    #expect(worker.next() == .end)
  }
}
