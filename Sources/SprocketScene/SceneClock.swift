internal import SprocketCore
internal import Synchronization

/// When the scene's time began: the same for its camera and its microphone.
final class SceneClock: Sendable {
  /// 0: it has not begun.
  private let start = Atomic<Int64>(0)

  /// Time on CLOCK_MONOTONIC at the scene's time 0. The first call begins it.
  func begin() -> Int64 {
    let (isFirst, old) = start.compareExchange(
      expected: 0, desired: monotonicNow(), ordering: .acquiringAndReleasing)
    return isFirst ? start.load(ordering: .acquiring) : old
  }
}
