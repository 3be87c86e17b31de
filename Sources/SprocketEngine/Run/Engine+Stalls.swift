internal import SprocketCore
internal import SprocketRing

/// Finds sinks that take no frame because their disk or reader blocks.
///
/// Keeps of the contract of requests:
/// - A18: a change ends the epoch, and all sinks wait until the slowest has drained. A sink that blocks would
///   cost the others frames. So it is looked for before the change is asked.
extension Engine {
  /// Nanoseconds without a frame after which a sink counts as blocked. A larger value waits for slower disks,
  /// and refuses a change beside a reader that pauses later.
  private static let stall: Int64 = 2_000_000_000
  /// CPU time in nanoseconds after which a sink that has taken no frame counts as working on one. A larger
  /// value takes more sinks on slow machines for blocked.
  private static let work: Int64 = 100_000_000
  /// Longest wait in nanoseconds for a sink that works. A larger value waits for slower sinks.
  private static let longestWork: Int64 = 10_000_000_000
  /// Nanoseconds between two checks of a sink's progress. Larger: fewer wake-ups; a change begins later.
  private static let pause: Int64 = 2_000_000

  /// Waits until each sink has taken the frames that were ready for it. If one takes none for `stall`, the
  /// change does not wait for it where it is detached, and throws otherwise. An offline run loses nothing
  /// however long it waits, and is not asked.
  func requireMovingSinks(_ change: ShapeChange) throws(RunError) {
    guard change.base.source.isLive else { return }
    for place in change.base.sinks where place.setup != nil && !isMoving(place, change.base) {
      guard change.detached.contains(place.state.id) else {
        throw RunError(
          .failed,
          "\(place.sink.name) has taken no frame for 2 s: its disk or its reader blocks. So nothing was "
            + "changed; ask again when it goes on, or detach it")
      }
      change.blocked.insert(place.state.id)
    }
  }

  private func isMoving(_ place: SinkPlace, _ epoch: Epoch) -> Bool {
    let tap = RingPlan.TapIndex(place.index)
    let target = epoch.ring.reach(ofTap: tap).ready
    var (taken, end) = (UInt64(0), deadline(in: Self.stall))
    var cpuTime = place.state.thread.cpuTime
    let last = deadline(in: Self.longestWork)
    while true {
      let now = epoch.ring.reach(ofTap: tap).taken
      // The epoch may have ended meanwhile: then the change is prepared anew.
      if now >= target || current.epoch !== epoch || isOver.value == 1 { return true }
      if now != taken { (taken, end) = (now, deadline(in: Self.stall)) }
      // One frame may take a sink longer than `stall`, if it computes.
      let used = place.state.thread.cpuTime
      if used.clampedDifference(cpuTime) >= Self.work {
        (cpuTime, end) = (used, min(last, deadline(in: Self.stall)))
      }
      guard monotonicNow() < end else { return false }
      sleep(until: monotonicNow() + Self.pause)
    }
  }
}
