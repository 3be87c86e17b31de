// A sink's hand on the ring: in order and gating, or pinning and lapped, or always the newest.

import Synchronization

extension Ring {
  /// The reader of a tap. Traps if it has been taken.
  public func makeReader(tap index: RingPlan.TapIndex) -> Reader {
    let tap = index.place
    precondition(plan.taps.indices.contains(tap), "No tap \(tap): there are \(plan.taps.count)")
    let taken = takenReaders[tap].add(1, ordering: .relaxed).oldValue
    precondition(taken == 0, "Tap \(tap) has been taken: plan for one tap per reader")
    return Reader(self, tap: tap)
  }
}

/// A sink's hand on the ring. For one thread at a time.
///
/// Every sequence that its upstream passes is told of once, in order: as a frame, or in a range of
/// those that were lapped or skipped.
public struct Reader: ~Copyable, Sendable {
  public enum Step: Sendable, Equatable {
    /// Its slot stays as it is, until `release`.
    case frame(sequence: UInt64, slot: Int)
    /// Lost: the source needed their slots. Only for a tap that does not gate.
    case lapped(Range<UInt64>)
    /// Passed over for the newest. Only for a tap that wants the latest.
    case skipped(Range<UInt64>)
    /// Nothing to do yet.
    case wait
    /// The end of the epoch: there will be nothing more.
    case end
  }

  private let ring: Ring
  private let tap: Int
  private let upstream: Int
  private let gates: Bool
  private let latest: Bool
  /// The upstream has passed this, as of the last look.
  private var upstreamPassed: UInt64 = 0
  /// The next sequence to be told of.
  private var position: UInt64 = 0
  private var held: Int?
  /// Has jumped to `position`: to be tried before there is another jump.
  private var hasJumped = false
  /// Whether `park` has succeeded and no wake was seen since.
  public private(set) var isParked = false

  init(_ ring: Ring, tap: Int) {
    self.ring = ring
    self.tap = tap
    upstream = ring.plan.taps[tap].upstream.cursor
    gates = ring.plan.taps[tap].gates
    latest = ring.plan.taps[tap].latest
  }

  /// Takes the next sequence, or tells which ones are lost.
  public mutating func next() -> Step {
    precondition(held == nil, "next() before release(): a reader holds one frame at a time")
    if isParked, let step = nextParked() { return step }
    if position >= upstreamPassed || latest { upstreamPassed = ring.passed(cursor: upstream) }
    if position >= upstreamPassed {
      // When the producer wakes a tap, it sets the tap's position to the next sequence. The lane that the tap
      // follows may not have passed that sequence yet: then the tap waits.
      return position == ring.end && upstreamPassed == position ? .end : .wait
    }
    if latest, !hasJumped, upstreamPassed - position > 1 {
      hasJumped = true
      return .skipped(jump(to: upstreamPassed - 1))
    }
    hasJumped = false
    if gates {
      held = ring.position(of: position)
    } else {
      held = pin(position)
    }
    guard let slot = held else {
      // What the source has published it had room for, so `depth` behind that may be intact.
      let published = ring.passed(cursor: 0)
      return .lapped(jump(to: max(position + 1, published - UInt64(ring.plan.depth))))
    }
    return .frame(sequence: position, slot: slot)
  }

  /// Returns `.wait` or `.end` while the tap is parked, and `nil` after the producer has woken it.
  private mutating func nextParked() -> Step? {
    // The end is read before the state: after the end the producer wakes no tap, so the state that is read
    // next is final.
    let end = ring.end
    guard !ring.isParked(tap: tap) else {
      return ring.passed(cursor: upstream) == end ? .end : .wait
    }
    isParked = false
    position = ring.passed(cursor: ring.cursor(ofTap: tap))
    hasJumped = false
    return nil
  }

  /// The sequence that comes next: all before it were taken, or passed over.
  public var nextPosition: UInt64 { position }

  /// All sequences below it have passed what this tap follows.
  public var upstreamLimit: UInt64 { ring.passed(cursor: upstream) }

  /// A value for `park` that changes with each `wake` of this tap. Read it before looking for requests.
  public var askCount: UInt64 { ring.tapStates[tap].word.load(ordering: .acquiring) }

  /// Parks this tap: until the producer wakes it, `next` returns `.wait`, or `.end` at the end. Returns
  /// false, and does not park, if the producer called `wake` after `askCount` was read.
  public mutating func park(since askCount: UInt64) -> Bool {
    precondition(held == nil, "park() before release(): a parked reader holds no frame")
    precondition(ring.plan.taps[tap].parks, "park() of tap \(tap): plan for a tap that parks")
    precondition(!isParked, "park() a second time: look at next() before")
    isParked =
      ring.tapStates[tap].word.compareExchange(
        expected: askCount, desired: askCount | Ring.parked, ordering: .acquiringAndReleasing
      ).exchanged
    // The producer may be waiting for this cursor.
    if isParked { ring.signal(ring.cursor(ofTap: tap)) }
    return isParked
  }

  /// Lets the frame go.
  public mutating func release() {
    guard let slot = held else {
      preconditionFailure("release() without a frame: take one with next(), and release it once")
    }
    held = nil
    position += 1
    if gates {
      ring.advance(ring.cursor(ofTap: tap), to: position)
    } else {
      ring.pins[slot].subtract(1, ordering: .releasing)
      publish()
    }
  }

  /// What to wait for after `.wait`: the upstream's cursor; a parked tap's own, until the end. Nil: ask
  /// again at once.
  public mutating func prepareToWait() -> WaitTicket? {
    if isParked, ring.end == .max {
      let ticket = ring.announce(ring.cursor(ofTap: tap))
      return ring.isParked(tap: tap) && ring.end == .max ? ticket : nil
    }
    let ticket = ring.announce(upstream)
    let passed = ring.passed(cursor: upstream)
    if isParked { return ring.isParked(tap: tap) && passed != ring.end ? ticket : nil }
    return position >= passed && passed != ring.end ? ticket : nil
  }

  private mutating func jump(to target: UInt64) -> Range<UInt64> {
    let passedOver = position..<target
    position = target
    publish()
    return passedOver
  }

  private func publish() {
    ring.cursors[ring.cursor(ofTap: tap)].passed.store(position, ordering: .releasing)
  }

  /// Keeps the slot that holds `sequence` as it is, or returns nil if the source has reclaimed it.
  private func pin(_ sequence: UInt64) -> Int? {
    let slot = ring.position(of: sequence)
    var word = ring.pins[slot].load(ordering: .acquiring)
    while PinWord.holds(word, sequence) {
      let (isPinned, current) = ring.pins[slot].compareExchange(
        expected: word, desired: word + 1, successOrdering: .acquiringAndReleasing,
        failureOrdering: .acquiring)
      if isPinned { return slot }
      word = current
    }
    return nil
  }
}
