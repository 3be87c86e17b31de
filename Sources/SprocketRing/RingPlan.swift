// What a ring is to look like: lanes, taps, and how many frames may be in flight.

/// The shape of a ring: which lanes pass over it, and which taps read from it.
///
/// Lanes are the chain: every one of them gates the source. Taps are the cursors of sinks.
public struct RingPlan: Sendable {
  /// Whom a lane or a tap follows.
  public enum Upstream: Sendable, Hashable {
    case source
    case lane(Int)
  }

  /// One or more threads and a cursor.
  public struct Lane: Sendable {
    /// The source, or a lane that stands before this one in `lanes`.
    public var upstream: Upstream
    /// 1: serial, in sequence order. More: each claims the next sequence, they finish in any order.
    public var workers: Int
    /// How many later sequences the lane before must have passed (or its end) before one is taken.
    public var lookahead: Int
    /// How many sequences stay intact behind this lane's cursor. It serves whoever reads back, and
    /// is the backlog of non-gating taps on this lane: without it, a full ring reuses a position as
    /// soon as the last lane has passed it.
    public var history: Int

    public init(upstream: Upstream, workers: Int = 1, lookahead: Int = 0, history: Int = 0) {
      self.upstream = upstream
      self.workers = workers
      self.lookahead = lookahead
      self.history = history
    }
  }

  /// The cursor of one sink.
  public struct Tap: Sendable {
    public var upstream: Upstream
    /// Whether the source waits for it (offline), or laps it (live).
    public var gates: Bool
    /// Whether it jumps to the newest sequence each time. Such a tap cannot gate.
    public var latest: Bool

    public init(upstream: Upstream, gates: Bool, latest: Bool = false) {
      self.upstream = upstream
      self.gates = gates
      self.latest = latest
    }
  }

  /// How many sequences may be in flight: claimed by the source, and not yet passed by all that
  /// gate it.
  public var depth: Int
  public var lanes: [Lane]
  public var taps: [Tap]

  public init(depth: Int, lanes: [Lane], taps: [Tap] = []) {
    self.depth = depth
    self.lanes = lanes
    self.taps = taps
  }

  /// The least depth at which every lane can move: with one less, the lane of the largest history
  /// plus look-ahead (its own and that of all before it) would wait for a sequence that the source
  /// has no position for. Room for lanes and workers to be busy at once comes on top.
  public var minimumDepth: Int {
    var reach: [Int] = []
    var deepest = 0
    for lane in lanes {
      reach.append(lane.lookahead + (lane.upstream.index.map { reach[$0] } ?? 0))
      deepest = max(deepest, lane.history + reach[reach.count - 1])
    }
    return 1 + deepest
  }

  /// One for each tap that does not gate: it can keep one slot from being reused.
  public var spareCount: Int { taps.count { !$0.gates } }

  /// How many slots the owner of the frames has to provide.
  public var slotCount: Int { depth + spareCount }

  func validate() {
    for (index, lane) in lanes.enumerated() {
      precondition(
        lane.upstream.index.map { (0..<index).contains($0) } ?? true,
        "Lane \(index) follows \(lane.upstream): let it follow the source or a lane before it")
      precondition(lane.workers >= 1, "Lane \(index) has no worker: give it at least 1")
      precondition(
        lane.lookahead >= 0 && lane.history >= 0,
        "Lane \(index) has a negative look-ahead or history: use 0 for none")
    }
    for (index, tap) in taps.enumerated() {
      precondition(
        tap.upstream.index.map(lanes.indices.contains) ?? true,
        "Tap \(index) follows \(tap.upstream), which is not in the plan: there are \(lanes.count)")
      precondition(
        !(tap.gates && tap.latest),
        "Tap \(index) skips to the latest, so it cannot gate: set `gates` to false")
    }
    precondition(
      depth >= minimumDepth,
      "A depth of \(depth) would deadlock: history and look-ahead need \(minimumDepth)")
    precondition(
      slotCount <= Int(Int32.max), "A ring of \(slotCount) slots is too large: lower its depth")
  }
}

extension RingPlan.Upstream {
  var index: Int? {
    switch self {
    case .source: nil
    case .lane(let index): index
    }
  }

  /// The source's cursor is the first; the lanes' follow in order.
  var cursor: Int { index.map { $0 + 1 } ?? 0 }
}
