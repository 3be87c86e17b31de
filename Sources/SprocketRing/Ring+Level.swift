// How full a ring is, for display.

/// How full a ring was at a moment. It may have changed since.
public struct RingLevel: Sendable, Hashable {
  /// Positions of the ring.
  public var depth: Int
  /// Sequences that some lane or gating tap has not passed.
  public var used: Int
  /// Sequences that the source can publish before it finds no position. Less than `depth` - `used` if lanes
  /// keep earlier frames (`history`), or if the source has to wait for a lane (`lead`).
  public var free: Int
}

extension Ring {
  /// The level now. Any thread may ask; nothing may follow from the answer but what a person sees.
  public var level: RingLevel {
    // Read before all other cursors: these only grow, so that `used` is never more than the depth.
    let published = passed(cursor: 0)
    let used = used(of: published)
    var limit = UInt64.max
    for gate in plan.gates {
      let passed = passed(cursor: gate.cursor)
      limit = min(limit, (passed > gate.history ? passed - gate.history : 0) + gate.ahead)
    }
    let free = limit > published ? limit - published : 0
    return RingLevel(
      depth: plan.depth, used: used, free: Int(min(free, UInt64(max(0, plan.depth - used)))))
  }

  /// `level.used`. Allocates nothing.
  public var used: Int { used(of: passed(cursor: 0)) }

  private func used(of published: UInt64) -> Int {
    var slowest = published
    for lane in plan.lanes.indices { slowest = min(slowest, passed(cursor: 1 + lane)) }
    for tap in plan.taps.indices where plan.taps[tap].gates && !isParked(tap: tap) {
      slowest = min(slowest, passed(cursor: cursor(ofTap: tap)))
    }
    return Int(published - slowest)
  }

  /// Published sequences that a lane has not passed. Any thread may ask, as for `level`.
  public func behind(_ lane: RingPlan.Upstream) -> UInt64 { behind(cursor: lane.cursor) }

  /// Published sequences that a tap has not taken or passed over; 0 for a parked one. Any thread may ask,
  /// as for `level`.
  public func behind(tap: RingPlan.TapIndex) -> UInt64 {
    isParked(tap: tap.place) ? 0 : behind(cursor: cursor(ofTap: tap.place))
  }

  /// What a tap may take by now, and what it has taken or passed over: sequences below these. A parked tap
  /// has taken all. Any thread may ask, as for `level`.
  public func reach(ofTap tap: RingPlan.TapIndex) -> (ready: UInt64, taken: UInt64) {
    let ready = passed(plan.taps[tap.place].upstream)
    return (ready, isParked(tap: tap.place) ? ready : passed(cursor: cursor(ofTap: tap.place)))
  }

  private func behind(cursor: Int) -> UInt64 {
    let published = passed(cursor: 0)
    let passed = passed(cursor: cursor)
    return published > passed ? published - passed : 0
  }
}

extension RingPlan {
  /// Per lane: how far the source may be ahead of it. The source's position stays at most `ahead` beyond
  /// the sequence that the lane has passed, minus the `history` of earlier frames that the lane still
  /// reads.
  var gates: [(cursor: Int, history: UInt64, ahead: UInt64)] {
    let reaches = reaches
    return lanes.indices.map { (1 + $0, UInt64(lanes[$0].history), UInt64(depth)) }
      + lanes.indices.compactMap { lane in
        lanes[lane].lead.map { (1 + lane, 0, UInt64($0 + reaches[lane])) }
      }
  }
}
