// Misuse traps. Each test is a process that has to die.

import SprocketRing
import Testing

@Suite struct RingTrapTests {
  @Test func publishWithoutClaimTraps() async {
    await #expect(processExitsWith: .failure) {
      var producer = makeRing(depth: 2, lanes: []).makeProducer()
      producer.publish()
    }
  }

  @Test func publishingAClaimTwiceTraps() async {
    await #expect(processExitsWith: .failure) {
      var producer = makeRing(depth: 2, lanes: []).makeProducer()
      _ = producer.claim()
      producer.publish()
      producer.publish()
    }
  }

  @Test func claimAfterEndTraps() async {
    await #expect(processExitsWith: .failure) {
      var producer = makeRing(depth: 2, lanes: []).makeProducer()
      producer.end()
      _ = producer.claim()
    }
  }

  @Test func endingTwiceTraps() async {
    await #expect(processExitsWith: .failure) {
      var producer = makeRing(depth: 2, lanes: []).makeProducer()
      producer.end()
      producer.end()
    }
  }

  @Test func finishingAFrameTwiceTraps() async {
    await #expect(processExitsWith: .failure) {
      let ring = makeRing(depth: 2, lanes: [.init(upstream: .source)])
      var producer = ring.makeProducer()
      var worker = ring.makeWorker(lane: 0)
      _ = producer.claim()
      producer.publish()
      _ = worker.next()
      worker.finish()
      worker.finish()
    }
  }

  @Test func parkingATapThatDoesNotParkTraps() async {
    await #expect(processExitsWith: .failure) {
      let ring = makeRing(depth: 2, lanes: [], taps: [.init(upstream: .source, gates: true)])
      var reader = ring.makeReader(tap: 0)
      _ = reader.park(since: reader.askCount)
    }
  }

  @Test func wakingATapThatDoesNotParkTraps() async {
    await #expect(processExitsWith: .failure) {
      let ring = makeRing(depth: 2, lanes: [], taps: [.init(upstream: .source, gates: true)])
      var producer = ring.makeProducer()
      producer.wake(tap: 0)
    }
  }

  @Test func finishingWithoutAFrameTraps() async {
    await #expect(processExitsWith: .failure) {
      var worker = makeRing(depth: 2, lanes: [.init(upstream: .source, workers: 2)])
        .makeWorker(lane: 0)
      _ = worker.next()
      worker.finish()
    }
  }

  @Test func takingASecondFrameTraps() async {
    await #expect(processExitsWith: .failure) {
      let ring = makeRing(depth: 2, lanes: [.init(upstream: .source)])
      var producer = ring.makeProducer()
      var worker = ring.makeWorker(lane: 0)
      _ = producer.claim()
      producer.publish()
      _ = worker.next()
      _ = worker.next()
    }
  }

  @Test func releasingWithoutAFrameTraps() async {
    await #expect(processExitsWith: .failure) {
      var reader = makeRing(depth: 2, lanes: [], taps: [.init(upstream: .source, gates: false)])
        .makeReader(tap: 0)
      reader.release()
    }
  }

  @Test func readingASecondFrameTraps() async {
    await #expect(processExitsWith: .failure) {
      let ring = makeRing(depth: 2, lanes: [], taps: [.init(upstream: .source, gates: false)])
      var producer = ring.makeProducer()
      var reader = ring.makeReader(tap: 0)
      _ = producer.claim()
      producer.publish()
      _ = reader.next()
      _ = reader.next()
    }
  }

  @Test func lookingBackBeyondWhatIsThereTraps() async {
    await #expect(processExitsWith: .failure) {
      let ring = makeRing(depth: 2, lanes: [])
      var producer = ring.makeProducer()
      for _ in 0..<3 {
        _ = producer.claim()
        producer.publish()
      }
      _ = ring.slot(at: 0)
    }
  }

  @Test func takingTheProducerTwiceTraps() async {
    await #expect(processExitsWith: .failure) {
      let ring = makeRing(depth: 2, lanes: [])
      _ = ring.makeProducer()
      _ = ring.makeProducer()
    }
  }

  @Test func takingMoreWorkersThanPlannedTraps() async {
    await #expect(processExitsWith: .failure) {
      let ring = makeRing(depth: 2, lanes: [.init(upstream: .source, workers: 2)])
      for _ in 0..<3 { _ = ring.makeWorker(lane: 0) }
    }
  }

  @Test func takingAReaderTwiceTraps() async {
    await #expect(processExitsWith: .failure) {
      let ring = makeRing(depth: 2, lanes: [], taps: [.init(upstream: .source, gates: true)])
      for _ in 0..<2 { _ = ring.makeReader(tap: 0) }
    }
  }

  @Test func r6RefusesADepthThatWouldDeadlock() async {
    await #expect(processExitsWith: .failure) {
      _ = makeRing(depth: 5, lanes: [.init(upstream: .source, lookahead: 2, history: 3)])
    }
    await #expect(processExitsWith: .success) {
      _ = makeRing(depth: 6, lanes: [.init(upstream: .source, lookahead: 2, history: 3)])
    }
  }

  @Test func aLaneThatFollowsALaterOneTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = makeRing(depth: 2, lanes: [.init(upstream: .lane(0))])
    }
  }

  @Test func aTapOnALaneThatIsNotThereTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = makeRing(depth: 2, lanes: [], taps: [.init(upstream: .lane(0), gates: true)])
    }
  }

  @Test func aTapThatSkipsAndGatesTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = makeRing(
        depth: 2, lanes: [], taps: [.init(upstream: .source, gates: true, latest: true)])
    }
  }

  @Test func aLaneWithoutWorkersTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = makeRing(depth: 2, lanes: [.init(upstream: .source, workers: 0)])
    }
  }

  @Test func r10AJumpLongerThanTheTapeTraps() async {
    await #expect(processExitsWith: .failure) { FateTape(depth: 4).advance(to: 5) }
    await #expect(processExitsWith: .success) { FateTape(depth: 4).advance(to: 4) }
  }

  @Test func r10AJumpBackwardsTraps() async {
    await #expect(processExitsWith: .failure) {
      let tape = FateTape(depth: 4)
      tape.advance(to: 3)
      tape.advance(to: 2)
    }
  }

  @Test func r10AFateBeyondTheTableTraps() async {
    await #expect(processExitsWith: .failure) {
      let tape = FateTape(depth: 4)
      tape.advance(to: 1)
      _ = tape.set(0, to: 16)
    }
  }
}
