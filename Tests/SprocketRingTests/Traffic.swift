// A whole ring at work: a source, all workers and readers of a plan, each on a thread, each checking
// everything that the contract promises it.

import Glibc
import SprocketRing

/// What went wrong, and how often; nothing, if the ring keeps its contract.
struct Faults: Equatable {
  var torn = 0
  var unsigned = 0
  var signedTwice = 0
  var outOfOrder = 0
  var lostWakeUps = 0
  var unaccounted = 0

  mutating func add(_ other: Faults) {
    torn += other.torn
    unsigned += other.unsigned
    signedTwice += other.signedTwice
    outOfOrder += other.outOfOrder
    lostWakeUps += other.lostWakeUps
    unaccounted += other.unaccounted
  }
}

/// What one thread found, or all of them together.
struct Outcome {
  var faults = Faults()
  var parks = 0
  /// Per tap.
  var taken: [UInt64] = []
  var lapped: [UInt64] = []
  var skipped: [UInt64] = []
  /// Per tap: sequences that passed while it was parked.
  var idle: [UInt64] = []

  mutating func add(_ other: Outcome) {
    faults.add(other.faults)
    parks += other.parks
    taken += other.taken
    lapped += other.lapped
    skipped += other.skipped
    idle += other.idle
  }
}

final class Traffic: Sendable {
  let plan: RingPlan
  let ring: Ring
  let slots: Slots
  let count: UInt64
  /// A frame in so many is dawdled over.
  let dawdling: UInt64
  /// How often to ask again before parking.
  let patience: Int
  /// Mean number of frames between two requests to a tap that parks.
  let asking: UInt64
  /// Requests by tap: the first sequence that each applies to, and 1 for "deliver frames" or 0 for "stop".
  let asked: [EventLog]

  init(
    _ plan: RingPlan, count: UInt64, dawdling: UInt64 = 64, patience: Int = 10, asking: UInt64 = 64
  ) {
    self.asking = asking
    asked = plan.taps.map { _ in EventLog(depth: Int(count) + 1) }
    self.plan = plan
    self.count = count
    self.dawdling = dawdling
    self.patience = patience
    ring = makeRing(plan)
    slots = Slots(plan)
  }

  static func run(
    _ plan: RingPlan, count: UInt64, dawdling: UInt64 = 64, patience: Int = 10, asking: UInt64 = 64
  ) -> Outcome {
    let traffic = Traffic(
      plan, count: count, dawdling: dawdling, patience: patience, asking: asking)
    var bodies: [@Sendable () -> Outcome] = [{ traffic.produce() }]
    for (index, lane) in plan.lanes.enumerated() {
      for worker in 0..<lane.workers {
        bodies.append { traffic.work(lane: index, seed: 100 * index + worker) }
      }
    }
    for tap in plan.taps.indices {
      bodies.append { traffic.read(tap: tap) }
    }
    var outcome = Outcome()
    for found in runThreads(bodies) { outcome.add(found) }
    let cursors = [.source] + plan.lanes.indices.map { RingPlan.Upstream.lane($0) }
    outcome.faults.unaccounted += cursors.count { traffic.ring.passed($0) != count }
    return outcome
  }

  private func produce() -> Outcome {
    var producer = ring.makeProducer()
    var parker = Parker(patience: patience)
    var dice = Dice(seed: 1)
    var published: UInt64 = 0
    var faults = Faults()
    while published < count {
      guard let (sequence, slot) = producer.claim() else {
        parker.wait { producer.prepareToWait() }
        continue
      }
      parker.foundSomethingToDo()
      if sequence != published { faults.outOfOrder += 1 }
      for tap in plan.taps.indices where plan.taps[tap].parks && dice.next() % asking == 0 {
        asked[tap].add([producer.position, asked[tap].end & 1, 0, 0])
        producer.wake(tap: RingPlan.TapIndex(tap))
      }
      slots.fill(slot, sequence)
      dice.dawdle(oneIn: dawdling)
      producer.publish()
      published += 1
    }
    producer.end()
    return outcome(faults, parker)
  }

  private func work(lane: Int, seed: Int) -> Outcome {
    var worker = ring.makeWorker(lane: lane)
    var parker = Parker(patience: patience)
    var dice = Dice(seed: seed + 2)
    var faults = Faults()
    var expected: UInt64 = 0
    while true {
      switch worker.next() {
      case .wait:
        parker.wait { worker.prepareToWait() }
      case .end:
        parker.foundSomethingToDo()
        return outcome(faults, parker)
      case .frame(let sequence, let slot):
        parker.foundSomethingToDo()
        if sequence < expected || (plan.lanes[lane].workers == 1 && sequence != expected) {
          faults.outOfOrder += 1
        }
        expected = sequence + 1
        check(sequence, slot, before: plan.lanes[lane].upstream, &faults)
        checkNeighbours(of: sequence, lane: plan.lanes[lane], &faults)
        if slots.isSigned(slot, lane: lane, sequence) { faults.signedTwice += 1 }
        slots.sign(slot, lane: lane, sequence)
        dice.dawdle(oneIn: dawdling)
        worker.finish()
      }
    }
  }

  private func read(tap: Int) -> Outcome {
    var reader = ring.makeReader(tap: RingPlan.TapIndex(tap))
    var parker = Parker(patience: patience)
    var dice = Dice(seed: tap + 1_000)
    var faults = Faults()
    var expected: UInt64 = 0
    var (taken, lapped, skipped): (UInt64, UInt64, UInt64) = (0, 0, 0)
    var asking = Asking()
    reading: while true {
      let count = reader.askCount
      if plan.taps[tap].parks, asking.mayPark(asked[tap]) {
        asking.hasParked = reader.park(since: count)
      }
      let step = reader.next()
      asking.follow(asked[tap], step, expected: &expected)
      if step != .wait { parker.foundSomethingToDo() }
      switch step {
      case .wait:
        parker.wait { reader.prepareToWait() }
      case .end:
        break reading
      case .lapped(let range), .skipped(let range):
        if range.lowerBound != expected || range.isEmpty { faults.outOfOrder += 1 }
        expected = range.upperBound
        if case .lapped = step { lapped += UInt64(range.count) }
        if case .skipped = step { skipped += UInt64(range.count) }
      case .frame(let sequence, let slot):
        if sequence != expected { faults.outOfOrder += 1 }
        expected = sequence + 1
        taken += 1
        check(sequence, slot, before: plan.taps[tap].upstream, &faults)
        // Long enough, now and then, for the source to come round.
        if dice.next() % 256 == 0 { sched_yield() }
        dice.dawdle(oneIn: 4)
        check(sequence, slot, before: plan.taps[tap].upstream, &faults)
        reader.release()
      }
    }
    let idle = asking.idle + (asking.hasParked ? count - expected : 0)
    if taken + lapped + skipped + idle != count { faults.unaccounted += 1 }
    if asking.isWanted, asking.hasParked { faults.unaccounted += 1 }
    var outcome = outcome(faults, parker)
    outcome.taken = [taken]
    outcome.lapped = [lapped]
    outcome.skipped = [skipped]
    outcome.idle = [idle]
    return outcome
  }

  /// Contents, and the marks of all lanes up to the one that was followed.
  private func check(
    _ sequence: UInt64, _ slot: Int, before upstream: RingPlan.Upstream, _ faults: inout Faults
  ) {
    if !slots.isIntact(slot, sequence) { faults.torn += 1 }
    var upstream = upstream
    while case .lane(let index) = upstream {
      if !slots.isSigned(slot, lane: index, sequence) { faults.unsigned += 1 }
      upstream = plan.lanes[index].upstream
    }
  }

  private func checkNeighbours(of sequence: UInt64, lane: RingPlan.Lane, _ faults: inout Faults) {
    guard lane.history + lane.lookahead > 0 else { return }
    let oldest = sequence - min(sequence, UInt64(lane.history))
    let newest = min(sequence + UInt64(lane.lookahead), count - 1)
    for neighbour in oldest...newest where neighbour != sequence {
      check(neighbour, ring.slot(at: neighbour), before: lane.upstream, &faults)
    }
  }

  private func outcome(_ faults: Faults, _ parker: Parker) -> Outcome {
    var outcome = Outcome(faults: faults, parks: parker.parks)
    outcome.faults.lostWakeUps = parker.lostWakeUps
    return outcome
  }
}

/// State of a tap that parks: it begins with frames wanted; each entry of its log changes that.
private struct Asking {
  var isWanted = true
  var hasParked = false
  /// Sequences that passed while it was parked.
  var idle: UInt64 = 0
  private var read: UInt64 = 0

  func mayPark(_ log: EventLog) -> Bool { !hasParked && !isWanted && read == log.end }

  /// Applies the requests up to the sequence of `step`. After parking, the first one holds the sequence with
  /// which the tap continues.
  mutating func follow(_ log: EventLog, _ step: Reader.Step, expected: inout UInt64) {
    let sequence: UInt64
    switch step {
    case .frame(let taken, _): sequence = taken
    case .lapped(let range), .skipped(let range): sequence = range.lowerBound
    case .wait: return
    case .end: sequence = .max
    }
    while let entry = log.entry(read), entry[0] <= sequence {
      if hasParked {
        idle += entry[0] - expected
        expected = entry[0]
        hasParked = false
      }
      isWanted = entry[1] == 1
      read += 1
    }
  }
}
