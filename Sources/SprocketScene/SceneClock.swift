public import SprocketCore
internal import Synchronization

/// When the scene's time began: the same for its camera and its microphone.
final class SceneClock: Sendable {
  /// 0: it has not begun.
  private let start = Atomic<Int64>(0)

  /// The scene begins at a multiple of the period of this rate on CLOCK_MONOTONIC, plus `phase` nanoseconds;
  /// `nil`: at once.
  private let rate: FrameRate?
  private let phase: Int64

  init(genlock rate: FrameRate? = nil, phase: Int64 = 0) { (self.rate, self.phase) = (rate, phase) }

  /// Time on CLOCK_MONOTONIC at the scene's time 0. The first call begins it.
  func begin() -> Int64 {
    let now = monotonicNow()
    let first = rate.map { Self.multiple(of: $0, after: now).clampedSum(phase) } ?? now
    let (isFirst, old) = start.compareExchange(
      expected: 0, desired: first, ordering: .acquiringAndReleasing)
    return isFirst ? start.load(ordering: .acquiring) : old
  }

  /// The first whole multiple of a frame's period after a time, nanoseconds, rounded down.
  private static func multiple(of rate: FrameRate, after now: Int64) -> Int64 {
    let (frames, seconds) = (UInt128(rate.frames), UInt128(rate.seconds) * 1_000_000_000)
    let number = UInt128(max(now, 0)) * frames / seconds + 1
    return Int64(clamping: number * seconds / frames)
  }
}

extension FrameRate {
  /// The rate of flashes and beeps.
  static let perSecond = FrameRate(frames: 1)
}

/// Time and pace of a scene, for what shall share them.
public struct SceneTime: Sendable {
  let clock: SceneClock
  let pace: SourcePace

  init(_ clock: SceneClock, pace: SourcePace) { (self.clock, self.pace) = (clock, pace) }

  /// A time of its own, which begins with the first sound.
  public init(pace: SourcePace = .real) { self.init(SceneClock(), pace: pace) }
}
