// A lane's hand on the ring: take the next sequence, finish it.

import Synchronization

extension Ring {
  /// A worker of a lane. Traps if all of the lane's workers have been taken.
  public func makeWorker(lane: Int) -> Worker {
    precondition(
      plan.lanes.indices.contains(lane), "No lane \(lane): there are \(plan.lanes.count)")
    let taken = takenWorkers[lane].add(1, ordering: .relaxed).oldValue
    precondition(
      taken < plan.lanes[lane].workers,
      "Lane \(lane) has \(plan.lanes[lane].workers) workers, all of them taken: plan for more")
    return Worker(self, lane: lane)
  }
}

/// One thread of a lane. For one thread at a time.
public struct Worker: ~Copyable, Sendable {
  public enum Step: Sendable, Equatable {
    /// To be worked on, until `finish`.
    case frame(sequence: UInt64, slot: Int)
    /// Nothing to do yet.
    case wait
    /// The end of the epoch: there will be nothing more.
    case end
  }

  private let ring: Ring
  private let lane: Int
  private let upstream: Int
  private let isParallel: Bool
  /// How far beyond s the lane before has to be.
  private let lead: UInt64
  /// The lane before has passed this, as of the last look.
  private var upstreamPassed: UInt64 = 0
  /// A serial lane's next sequence.
  private var position: UInt64 = 0
  private var held: UInt64?

  init(_ ring: Ring, lane: Int) {
    self.ring = ring
    self.lane = lane
    let plan = ring.plan.lanes[lane]
    upstream = plan.upstream.cursor
    isParallel = plan.workers > 1
    lead = 1 + UInt64(plan.lookahead)
  }

  /// Takes the next sequence, if the lane before has passed it and the look-ahead.
  public mutating func next() -> Step {
    precondition(held == nil, "next() before finish(): a worker holds one frame at a time")
    var sequence = candidate
    while true {
      if let reason = obstacle(to: sequence) { return reason }
      guard isParallel else { break }
      // Relaxed: the claim hands over no data; what there is to read came with `upstreamPassed`.
      let (isMine, current) = ring.contests[lane].claimed.word.compareExchange(
        expected: sequence, desired: sequence + 1, ordering: .relaxed)
      if isMine { break }
      sequence = current
    }
    held = sequence
    return .frame(sequence: sequence, slot: ring.position(of: sequence))
  }

  /// Lets the frame pass: the worker is done with it, and with those that it looked at beside it.
  public mutating func finish() {
    guard let sequence = held else {
      preconditionFailure("finish() without a frame: take one with next(), and finish it once")
    }
    held = nil
    if isParallel {
      finishInAnyOrder(sequence)
    } else {
      position = sequence + 1
      ring.advance(1 + lane, to: position)
    }
  }

  /// What to wait for after `.wait`: the cursor of the lane before. Nil: ask again at once.
  public mutating func prepareToWait() -> WaitTicket? {
    let ticket = ring.announce(upstream)
    return obstacle(to: candidate) == .wait ? ticket : nil
  }

  /// The next sequence to take: of a parallel lane, one that another worker may take first.
  private var candidate: UInt64 {
    isParallel ? ring.contests[lane].claimed.word.load(ordering: .relaxed) : position
  }

  private mutating func obstacle(to sequence: UInt64) -> Step? {
    if upstreamPassed >= sequence + lead { return nil }
    upstreamPassed = ring.passed(cursor: upstream)
    if upstreamPassed >= sequence + lead { return nil }
    let end = ring.end
    if sequence >= end { return .end }
    return upstreamPassed >= end ? nil : .wait
  }

  /// Marks the sequence as done; who finds nobody moving the lane's cursor moves it.
  private func finishInAnyOrder(_ sequence: UInt64) {
    ring.marks[mark(of: sequence)].store(sequence + 1, ordering: .releasing)
    let before = ring.contests[lane].pending.word.add(1, ordering: .acquiringAndReleasing).oldValue
    guard before == 0 else { return }
    var seen: UInt64 = 1
    while true {
      let start = ring.passed(.lane(lane))
      var passed = start
      while ring.marks[mark(of: passed)].load(ordering: .acquiring) == passed + 1 { passed += 1 }
      if passed > start { ring.advance(1 + lane, to: passed) }
      let (isDone, pending) = ring.contests[lane].pending.word.compareExchange(
        expected: seen, desired: 0, ordering: .acquiringAndReleasing)
      if isDone { return }
      seen = pending
    }
  }

  private func mark(of sequence: UInt64) -> Int {
    lane * ring.positions.count + Int(sequence & ring.mask)
  }
}
