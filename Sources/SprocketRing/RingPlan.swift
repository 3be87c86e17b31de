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
    /// How many sequences the source may be ahead of this lane, beside those that its look-ahead and
    /// that of the lanes before it wait for; `nil` where the depth alone decides. With 1, the source
    /// claims nothing while the lane has something that it could take.
    public var lead: Int?

    public init(
      upstream: Upstream, workers: Int = 1, lookahead: Int = 0, history: Int = 0, lead: Int? = nil
    ) {
      self.upstream = upstream
      self.workers = workers
      self.lookahead = lookahead
      self.history = history
      self.lead = lead
    }
  }

  /// The cursor of one sink.
  public struct Tap: Sendable {
    public var upstream: Upstream
    /// Whether the source waits for it (offline), or laps it (live).
    public var gates: Bool
    /// Whether it jumps to the newest sequence each time. Such a tap cannot gate.
    public var latest: Bool
    /// Whether its reader may call `park`.
    public var parks: Bool

    public init(upstream: Upstream, gates: Bool, latest: Bool = false, parks: Bool = false) {
      self.upstream = upstream
      self.gates = gates
      self.latest = latest
      self.parks = parks
    }
  }

  /// Index of a tap in `taps`.
  public struct TapIndex: Sendable, Hashable, ExpressibleByIntegerLiteral {
    let place: Int

    public init(_ place: Int) { self.place = place }
    public init(integerLiteral place: Int) { self.place = place }
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
    1 + (zip(lanes, reaches).map { $0.history + $1 }.max() ?? 0)
  }

  /// Per lane: how many later sequences have to be published before it takes one, by its own look-ahead
  /// and that of all before it.
  var reaches: [Int] {
    var reaches: [Int] = []
    for lane in lanes {
      reaches.append(lane.lookahead + (lane.upstream.index.map { reaches[$0] } ?? 0))
    }
    return reaches
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
      precondition(
        lane.lead ?? 1 >= 1, "Lane \(index) lets the source lead by nothing: it would never begin")
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
