// The source's hand on the ring: claim a position, fill its slot, publish.

import Synchronization

extension Ring {
  /// The one who fills positions. Traps if it has been taken.
  public func makeProducer() -> Producer {
    let taken = takenProducers.add(1, ordering: .relaxed).oldValue
    precondition(taken == 0, "The producer has been taken: a ring has one source")
    return Producer(self)
  }
}

/// The source's hand on the ring. For one thread at a time.
public struct Producer: ~Copyable, Sendable {
  private let ring: Ring
  private let depth: UInt64
  /// As `RingPlan.gates`.
  private let gates: [(cursor: Int, history: UInt64, ahead: UInt64)]
  /// Indices of the taps that gate. Parked ones are ignored.
  private let gatingTaps: [Int]
  /// The next sequence to be published.
  private var next: UInt64 = 0
  /// The slot claimed for `next`.
  private var claimed: Int?
  /// Sequences below it may be claimed, as of the last look at the cursors that gate.
  private var limit: UInt64
  /// The cursor that held the minimum at the last look.
  private var blocker = 0
  /// Slots that hold none of the newest `depth` sequences; a tap may still have pinned them.
  private var idle: [Int]
  private var hasEnded = false

  init(_ ring: Ring) {
    self.ring = ring
    let plan = ring.plan
    let depth = UInt64(plan.depth)
    self.depth = depth
    gates = plan.gates
    gatingTaps = plan.taps.indices.filter { plan.taps[$0].gates }
    limit = min(depth, gates.map(\.ahead).min() ?? depth)
    idle = Array(plan.depth..<plan.slotCount)
  }

  /// The next position to fill, or nil if there is no free one: drop the frame, or wait.
  ///
  /// Asked again before `publish`, it answers the same.
  public mutating func claim() -> (sequence: UInt64, slot: Int)? {
    precondition(!hasEnded, "claim() after end(): a new epoch needs a new ring")
    if let claimed { return (next, claimed) }
    if next >= limit {
      lookAtGates()
      if next >= limit { return nil }
    }
    let slot = takeSlot()
    ring.positions[Int(next & ring.mask)].store(slot, ordering: .releasing)
    claimed = slot
    return (next, slot)
  }

  /// Lets the claimed position pass.
  public mutating func publish() {
    precondition(claimed != nil, "publish() without claim(): claim a position and fill its slot")
    claimed = nil
    next += 1
    ring.advance(0, to: next)
  }

  /// The next sequence to be published.
  public var position: UInt64 { next }

  /// Tells a tap that there is a new request, which the caller has stored before. A parked tap continues with
  /// the next sequence to be published. Traps if the tap's plan does not allow parking.
  public mutating func wake(tap index: RingPlan.TapIndex) {
    let tap = index.place
    precondition(ring.plan.taps[tap].parks, "wake() of tap \(tap), which never parks")
    let state = ring.tapStates[tap].word.add(2, ordering: .acquiringAndReleasing).newValue
    // Only this call ends the parking, so the producer may write the cursor until it clears the bit.
    guard state & Ring.parked != 0 else { return }
    let cursor = ring.cursor(ofTap: tap)
    ring.cursors[cursor].passed.store(next, ordering: .releasing)
    // `limit` was computed without this tap.
    if ring.plan.taps[tap].gates { limit = min(limit, next + depth) }
    ring.tapStates[tap].word.bitwiseAnd(~Ring.parked, ordering: .acquiringAndReleasing)
    ring.signal(cursor)
  }

  /// Publishes the end: what has been published is all there will be. A claim not published lapses.
  public mutating func end() {
    precondition(!hasEnded, "end() a second time: a ring has one end")
    hasEnded = true
    claimed = nil
    ring.ending[0].word.store(next, ordering: .releasing)
    ring.interrupt()
  }

  /// What to wait for after `claim` returned nil: the slowest cursor. Nil: claim again at once.
  public mutating func prepareToWait() -> WaitTicket? {
    guard claimed == nil, next >= limit else { return nil }
    let cursor = blocker
    let ticket = ring.announce(cursor)
    lookAtGates()
    // Another cursor may be the slowest by now: who waits on the wrong one is not woken.
    return next >= limit && blocker == cursor ? ticket : nil
  }

  private mutating func lookAtGates() {
    limit = .max
    for gate in gates {
      let passed = ring.passed(cursor: gate.cursor)
      let room = (passed > gate.history ? passed - gate.history : 0) + gate.ahead
      if room < limit {
        limit = room
        blocker = gate.cursor
      }
    }
    for tap in gatingTaps {
      // `.max` for a parked tap.
      let passed = ring.passed(tap: RingPlan.TapIndex(tap))
      guard passed != .max, passed + depth < limit else { continue }
      limit = passed + depth
      blocker = ring.cursor(ofTap: tap)
    }
  }

  /// The slot for `next`: the one that leaves the newest `depth`, or an idle one if it is pinned.
  private mutating func takeSlot() -> Int {
    var slot = Int(truncatingIfNeeded: next)
    if next >= depth {
      slot = ring.position(of: next - depth)
      let word = ring.pins[slot].bitwiseOr(
        PinWord.reclaimed, ordering: .acquiringAndReleasing
      ).oldValue
      if PinWord.isPinned(word) { slot = exchangeForIdle(slot) }
    }
    ring.pins[slot].store(PinWord.holding(next), ordering: .releasing)
    return slot
  }

  private mutating func exchangeForIdle(_ pinned: Int) -> Int {
    for index in idle.indices {
      let slot = idle[index]
      if !PinWord.isPinned(ring.pins[slot].load(ordering: .acquiring)) {
        idle[index] = pinned
        return slot
      }
    }
    preconditionFailure("No idle slot: a tap has pinned two slots, which invariant 5 forbids")
  }
}
