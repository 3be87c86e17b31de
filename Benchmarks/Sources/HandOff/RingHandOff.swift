// The bare ring: a source, lanes that do nothing, and a gating tap as the last of them.

import CSprocketSystem
import Glibc
import SprocketRing
import Synchronization

/// What one measurement found.
struct HandOffResult: Sendable {
  /// Of all threads, less what the source uses when nobody listens: microseconds per frame and
  /// lane.
  var cpu: Double
  /// From just before the frame is published to the sink's thread; nanoseconds, sorted.
  var latencies: [Int64]
  /// Where nobody waits: frames that did not arrive, because the machine was busy with other things.
  var lost = 0

  func percentile(_ percent: Int) -> Double {
    Double(latencies[latencies.count * percent / 100]) / 1e3
  }
}

/// The ring in numbers: as deep as the queues it is compared with.
struct RingHandOff {
  static let depth = 64
  let parks: Bool
  /// The sink included.
  let lanes: Int

  private func makeRing() -> Ring {
    let chain = (0..<lanes - 1).map { lane in
      RingPlan.Lane(upstream: lane == 0 ? .source : .lane(lane - 1))
    }
    let tap = RingPlan.Tap(upstream: lanes == 1 ? .source : .lane(lanes - 2), gates: true)
    return Ring(RingPlan(depth: Self.depth, lanes: chain, taps: [tap])) { event in
      unsafe sprocket_futex_wake(event.address)
    }
  }

  private func wait(_ ticket: () -> WaitTicket?) {
    guard parks, let ticket = ticket() else { return }
    unsafe _ = sprocket_futex_wait(ticket.event.address, ticket.value, 100_000_000)
  }

  private func work(_ ring: Ring, lane: Int) {
    var worker = ring.makeWorker(lane: lane)
    while true {
      switch worker.next() {
      case .frame: worker.finish()
      case .wait: wait { worker.prepareToWait() }
      case .end: return
      }
    }
  }

  /// Calls `take` with each frame's slot, in order.
  private func read(_ ring: Ring, take: (Int) -> Void) {
    var reader = ring.makeReader(tap: 0)
    while true {
      switch reader.next() {
      case .frame(_, let slot):
        take(slot)
        reader.release()
      case .wait: wait { reader.prepareToWait() }
      case .lapped, .skipped: preconditionFailure("A gating tap loses nothing")
      case .end: return
      }
    }
  }

  private func claim(_ producer: inout Producer) -> Int {
    while true {
      if let position = producer.claim() { return position.slot }
      wait { producer.prepareToWait() }
    }
  }

  /// A source at `rate` frames per second.
  func measure(frames: Int, rate: Double) -> HandOffResult {
    let sent = SlotTimes()
    let before = nanoseconds(CLOCK_THREAD_CPUTIME_ID)
    paced(frames: frames, rate: rate) { sent.now(slot: $0 % Self.depth) }
    let idle = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - before

    let ring = makeRing()
    let latencies = Mutex<[Int64]>([])
    let start = nanoseconds(CLOCK_PROCESS_CPUTIME_ID)
    var threads = (0..<lanes - 1).map { lane in Thread { work(ring, lane: lane) } }
    threads.append(
      Thread {
        var taken: [Int64] = []
        taken.reserveCapacity(frames)
        read(ring) { taken.append(nanoseconds(CLOCK_MONOTONIC) - sent.at(slot: $0)) }
        latencies.withLock { $0 = taken }
      })
    var producer = ring.makeProducer()
    paced(frames: frames, rate: rate) { _ in
      sent.now(slot: claim(&producer))
      producer.publish()
    }
    producer.end()
    for thread in threads { thread.join() }
    let used = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - start - idle
    return HandOffResult(
      cpu: Double(used) / 1e3 / Double(frames * lanes),
      latencies: latencies.withLock { $0.sorted() })
  }

  /// As fast as it goes, from one thread to one other; frames per second.
  func throughput(count: Int) -> Double {
    let ring = makeRing()
    let start = nanoseconds(CLOCK_MONOTONIC)
    let reader = Thread {
      var seen = 0
      read(ring) { _ in seen += 1 }
      precondition(seen == count, "The ring lost \(count - seen) frames")
    }
    var producer = ring.makeProducer()
    for _ in 0..<count {
      _ = claim(&producer)
      producer.publish()
    }
    producer.end()
    reader.join()
    return Double(count) * 1e9 / Double(nanoseconds(CLOCK_MONOTONIC) - start)
  }
}

/// When each slot's frame was sent.
final class SlotTimes: Sendable {
  private let times = InlineArray<64, Atomic<Int64>> { _ in Atomic(0) }

  func now(slot: Int) { times[slot].store(nanoseconds(CLOCK_MONOTONIC), ordering: .relaxed) }
  func at(slot: Int) -> Int64 { times[slot].load(ordering: .relaxed) }
}
