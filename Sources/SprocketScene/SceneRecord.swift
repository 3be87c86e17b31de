/// What the scene did, in the ledger's terms: to be compared with what the engine counted.
package struct SceneRecord: Sendable {
  /// Frames that `next` told of.
  package var told: UInt64 = 0
  /// Sequence numbers lost between those: drops, and frames that found no buffer.
  package var missing: UInt64 = 0
  /// Told of with damage that shows.
  package var corrupt: UInt64 = 0
  /// Told of, whole, and marked as not to be used.
  package var startup: UInt64 = 0
  package var replugs: UInt64 = 0
  package var formatChanges: UInt64 = 0
  /// Frames with each fault, in the order of `SceneFault.named`.
  package var faults = InlineArray<8, UInt64>(repeating: 0)

  package init() {}

  package mutating func add(_ capture: SceneCapture, isCorrupt: Bool) {
    told += 1
    missing += capture.lost
    if isCorrupt {
      corrupt += 1
    } else if capture.isStartup {
      startup += 1
    }
    for bit in 0..<8 where capture.faults.contains(SceneFault(rawValue: 1 << UInt16(bit))) {
      faults[bit] += 1
    }
  }
}
