public import SprocketCore

/// How the scene's driver stamps frames.
public enum SceneStamps: String, Sendable, CaseIterable, SettingValue {
  /// With the start of the exposure.
  case good
  /// The same, off by up to `jitter` either way.
  case jittered
  /// With 0, on a clock that is said to be the monotonic one; or not at all.
  case zero, absent
  /// On a clock of 32 bits of microseconds that has just begun anew; on CLOCK_REALTIME.
  case wrapped, realtime
}

/// The times that the scene's frames get: those of its driver, repaired as a camera's are.
struct SceneStamper {
  private let faults: SceneFaults
  private var clock = StampClock()

  init(_ faults: SceneFaults) { self.faults = faults }

  /// Whether frames need it: without faults their times are the truth.
  var isNeeded: Bool { faults.settings.stamps != .good }
  var repaired: UInt64 { clock.repaired }

  /// When a frame of the scene was captured that arrived at `now`; both in nanoseconds since the start, and
  /// `start` that of the start on the clock of the run.
  mutating func time(
    of capture: SceneCapture, arrival now: Int64, start: Int64
  ) -> (nanoseconds: Int64, isRepaired: Bool) {
    let truth = start.clampedSum(capture.stamped)
    let found = clock.time(
      of: stamp(of: capture, truth), sequence: capture.sequence, arrival: start.clampedSum(now))
    return (found.nanoseconds.clampedSum(-start), found.isRepaired)
  }

  private func stamp(of capture: SceneCapture, _ truth: Int64) -> StampClock.Stamp {
    let settings = faults.settings
    let seconds = Double(capture.taken) * 1e-9
    let isFaulty =
      seconds >= settings.stampsAt
      && (settings.stampsFor == 0 || seconds < settings.stampsAt + settings.stampsFor)
    switch isFaulty ? settings.stamps : .good {
    case .good: return StampClock.Stamp(truth, isMonotonic: true)
    case .jittered:
      return StampClock.Stamp(
        truth.clampedSum(faults.stampError(of: capture.number)), isMonotonic: true)
    case .zero: return StampClock.Stamp(0, isMonotonic: true)
    case .absent: return StampClock.Stamp(0, isMonotonic: false)
    case .wrapped: return StampClock.Stamp(truth.clampedSum(-Self.wrap), isMonotonic: true)
    case .realtime: return StampClock.Stamp(truth.clampedSum(Self.epoch), isMonotonic: false)
    }
  }

  /// Nanoseconds of 32 bits of microseconds.
  private static let wrap: Int64 = 4_294_967_296_000
  /// Nanoseconds from 1970 until a machine started, in 2026.
  private static let epoch: Int64 = 1_790_000_000_000_000_000
}
