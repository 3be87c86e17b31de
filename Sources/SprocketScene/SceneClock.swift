public import SprocketCore
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

/// Time and pace of a scene, for what shall share them.
public struct SceneTime: Sendable {
  let clock: SceneClock
  let pace: SourcePace

  init(_ clock: SceneClock, pace: SourcePace) { (self.clock, self.pace) = (clock, pace) }

  /// A time of its own, which begins with the first sound.
  public init(pace: SourcePace = .real) { self.init(SceneClock(), pace: pace) }
}
