internal import SprocketCore
internal import Synchronization

/// Chooses the frames of an epoch that become stills: of those for which a condition holds, what the run's
/// course chooses.
final class StillSelector: FrameSelector {
  private let condition: ReportCondition?
  let course: StillCourse

  /// `condition` has found its fields in the epoch's chain.
  init(_ course: StillCourse, _ condition: ReportCondition?) {
    (self.course, self.condition) = (course, condition)
  }

  func selects(_ frame: borrowing FrameView) -> Bool {
    course.isOpen(at: frame.record.captured.nanoseconds) && condition?.holds(frame) ?? true
      && course.chosen?.selects(frame) ?? true
  }
}

/// What the choice of stills keeps over the run's epochs.
final class StillCourse {
  /// Chooses the first frame of each interval, or the sharpest of each; `nil` for all.
  let chosen: (any FrameSelector)?
  /// Set by the sink's thread when it has as many stills as were asked for.
  let isOver = Atomic<Bool>(false)
  private let delay: Int64
  private var origin: Int64?

  /// Chooses no frame before so much time after the first one.
  init(after delay: Duration, _ chosen: (any FrameSelector)?) {
    (self.delay, self.chosen) = (max(0, delay.nanosecondCount), chosen)
  }

  /// `time` in nanoseconds. A clock that goes back, as after a replug, begins anew.
  func isOpen(at time: Int64) -> Bool {
    let start = min(origin ?? time, time)
    origin = start
    // Also a difference that no signed number holds.
    return UInt64(bitPattern: time &- start) >= UInt64(delay) && !isOver.load(ordering: .relaxed)
  }
}
