internal import SprocketCore
internal import SprocketRing

/// The cursors of the lanes and sinks that read memory lent by the source.
///
/// Keeps of the ring's contract:
/// - R4: borrowed memory goes back when unpacking, and every stage and sink cursor that touches it, has
///   passed, not when the position is reused.
struct LoanReaders {
  /// A lane, and how far behind its cursor it still looks.
  private var lanes: [(lane: Int, history: UInt64)] = []
  private var taps: [RingPlan.TapIndex] = []

  init(plan: ChainPlan, stages: [ChainStage], sinks: [SinkPlace]) {
    let first = plan.versions[0]
    let borrows = first.borrowsImage || first.borrowsLuma
    // Pixels that nobody wrote may be the source's memory.
    func touches(_ parts: FrameParts, version: VersionIndex) -> Bool {
      parts.contains(.encoded)
        || (borrows && version == .unpacked && !parts.isDisjoint(with: .pixels))
    }
    let last = plan.lastVersion
    let packedParts = plan.sinkParts
    for (index, lane) in plan.lanes.enumerated() {
      let isReader = lane.steps.contains { step in
        switch step {
        case .stage(let stage):
          let declared = stages[stage].declared
          let parts = declared.writing == nil ? declared.parts : declared.parts.union(.image)
          return touches(parts, version: plan.readVersion[stage])
        case .unpack, .unpackAsked, .packSource: return true
        case .select, .pack: return touches(packedParts, version: last)
        }
      }
      if isReader { lanes.append((index, UInt64(lane.history))) }
    }
    taps = sinks.indices.filter { index in
      sinks[index].setup.map { touches($0.parts, version: last) } ?? false
    }.map { RingPlan.TapIndex($0) }
  }

  /// A sequence number: all lanes and sinks have finished reading the lent memory of the frames before it,
  /// so this memory can be returned to the source.
  func passed(_ ring: Ring) -> UInt64 {
    var limit = ring.passed(.source)
    for (lane, history) in lanes {
      let passed = ring.passed(.lane(lane))
      limit = min(limit, passed - min(passed, history))
    }
    for tap in taps { limit = min(limit, ring.passed(tap: tap)) }
    return limit
  }
}
