public import SprocketCore

/// Timestamps of the scene's simulated driver.
public enum SceneStamps: String, Sendable, CaseIterable, SettingValue {
  /// The start of the exposure.
  case good
  /// The same with an error of up to `jitter` in both directions.
  case jittered
  /// 0, declared as monotonic; or 0 without a clock.
  case zero, absent
  /// A 32-bit microsecond counter that has wrapped; CLOCK_REALTIME.
  case wrapped, realtime
}

/// Simulates the driver's stamps and corrects them in the same way as a camera's.
struct SceneStamper {
  private let faults: SceneFaults
  private var clock = StampClock()

  init(_ faults: SceneFaults) { self.faults = faults }

  /// Whether the simulated stamps differ from the true times.
  var isNeeded: Bool { faults.settings.stamps != .good }
  var repaired: UInt64 { clock.repaired }

  /// Capture time of a frame that arrived at `now`. Both are nanoseconds since the start; `start` is the
  /// start on the run's clock.
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

  /// Range of a 32-bit microsecond counter in nanoseconds.
  private static let wrap: Int64 = 4_294_967_296_000
  /// Offset of CLOCK_REALTIME from CLOCK_MONOTONIC, in nanoseconds; a value of 2026.
  private static let epoch: Int64 = 1_790_000_000_000_000_000
}
