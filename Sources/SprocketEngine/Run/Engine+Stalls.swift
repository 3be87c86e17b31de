internal import SprocketCore
internal import SprocketRing

/// Decides whether sinks take frames, or compute on one.
struct SinkWatch {
  /// Nanoseconds without a frame after which a sink counts as blocked. A larger value waits for slower disks,
  /// and refuses a change beside a reader that pauses later.
  static let stall: Int64 = 2_000_000_000
  /// CPU time in nanoseconds after which a sink that has taken no frame counts as working on one. A larger
  /// value takes more sinks on slow machines for blocked.
  private static let work: Int64 = 100_000_000

  private let patience: Int64
  private let longest: Int64
  private var progress: UInt64?
  private var cpuTime: Int64 = 0
  private var end: Int64 = 0
  private var last: Int64 = 0

  /// `patience`: nanoseconds without progress. `longest`: the same while it computes.
  init(_ patience: Int64 = stall, longest: Int64) {
    (self.patience, self.longest) = (patience, longest)
  }

  /// `progress` changes with each frame. `cpuTime`: nanoseconds that were used so far.
  mutating func isMoving(_ progress: UInt64, cpuTime: Int64) -> Bool {
    if progress != self.progress {
      (self.progress, self.cpuTime) = (progress, cpuTime)
      (end, last) = (deadline(in: patience), deadline(in: longest))
    } else if cpuTime.clampedDifference(self.cpuTime) >= Self.work {
      self.cpuTime = cpuTime
      end = min(last, deadline(in: patience))
    }
    return monotonicNow() < end
  }
}

/// Finds sinks that take no frame because their disk or reader blocks.
///
/// Keeps of the contract of requests:
/// - A18: a change ends the epoch, and all sinks wait until the slowest has drained. A sink that blocks would
///   cost the others frames. So it is looked for before the change is asked.
extension Engine {
  /// Longest wait in nanoseconds for a sink that works. A larger value waits for slower sinks.
  private static let longestWork: Int64 = 10_000_000_000
  /// Further frames that a sink takes before a change. It may have taken all and block at the next, or write
  /// a frame only when it has nothing else to do. A larger value finds sinks that block later, and delays
  /// each change.
  private static let further: UInt64 = 2
  /// Longest wait in nanoseconds for these frames. A larger value finds sinks of slower sources that block,
  /// and their changes begin later.
  private static let longestFurther: Int64 = 250_000_000
  /// Nanoseconds between two checks of a sink's progress. Larger: fewer wake-ups; a change begins later.
  private static let pause: Int64 = 2_000_000

  /// Waits until each sink has taken the frames that were ready for it, and `further` ones. If a sink takes
  /// none for `SinkWatch.stall`, the change does not wait for it where it is detached, and throws otherwise.
  /// An offline run loses nothing however long it waits, and is not asked.
  func requireMovingSinks(_ change: ShapeChange) throws(RunError) {
    let base = change.base
    guard base.source.isLive else { return }
    let first = base.sinks.map { base.ring.reach(ofTap: RingPlan.TapIndex($0.index)).ready }
    let furtherEnd = deadline(in: Self.longestFurther)
    for (place, ready) in zip(base.sinks, first)
    where place.setup != nil && !isMoving(place, base, beyond: ready, until: furtherEnd) {
      guard change.detached.contains(place.state.id) else {
        throw RunError(
          .failed,
          "\(place.sink.name) has taken no frame for 2 s: its disk or its reader blocks. So nothing was "
            + "changed; ask again when it goes on, or detach it")
      }
      change.blocked.insert(place.state.id)
    }
  }

  private func isMoving(
    _ place: SinkPlace, _ epoch: Epoch, beyond first: UInt64, until furtherEnd: Int64
  ) -> Bool {
    var watch = SinkWatch(longest: Self.longestWork)
    while true {
      let (ready, taken) = epoch.ring.reach(ofTap: RingPlan.TapIndex(place.index))
      // The epoch may have ended meanwhile: then the change is prepared anew.
      if taken >= first + Self.further || current.epoch !== epoch || isOver.value == 1 {
        return true
      }
      let isIdle = taken >= ready
      if isIdle, monotonicNow() >= furtherEnd { return true }
      // One frame may take a sink longer than `stall`, if it computes.
      if !isIdle, !watch.isMoving(taken, cpuTime: place.state.thread.cpuTime) { return false }
      sleep(until: monotonicNow() + Self.pause)
    }
  }
}
