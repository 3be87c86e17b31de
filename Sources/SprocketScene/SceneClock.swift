public import SprocketCore
internal import Synchronization

/// When the scene's time began: the same for its camera and its microphone.
final class SceneClock: Sendable {
  /// 0: it has not begun.
  private let start = Atomic<Int64>(0)

  /// The scene begins at a multiple of this time on CLOCK_MONOTONIC, nanoseconds, plus `phase`; 0: at once.
  private let period: Int64
  private let phase: Int64

  init(period: Int64 = 0, phase: Int64 = 0) { (self.period, self.phase) = (period, phase) }

  /// Time on CLOCK_MONOTONIC at the scene's time 0. The first call begins it.
  func begin() -> Int64 {
    let now = monotonicNow()
    let first = period > 0 ? ((now / period + 1) * period).clampedSum(phase) : now
    let (isFirst, old) = start.compareExchange(
      expected: 0, desired: first, ordering: .acquiringAndReleasing)
    return isFirst ? start.load(ordering: .acquiring) : old
  }
}

/// Time and pace of a scene, for what shall share them.
public struct SceneTime: Sendable {
  let clock: SceneClock
  let pace: SourcePace

  init(_ clock: SceneClock, pace: SourcePace) { (self.clock, self.pace) = (clock, pace) }

  /// A time of its own, which begins with the first sound.
  public init(pace: SourcePace = .real) { self.init(SceneClock(), pace: pace) }
}
