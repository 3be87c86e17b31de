internal import CSprocketLibAV
internal import SprocketTimes

/// A ratio of whole numbers, as files give time bases and frame rates.
public struct MediaRational: Equatable, Sendable {
  public let numerator: Int
  public let denominator: Int

  public init(_ numerator: Int, _ denominator: Int) {
    self.numerator = numerator
    self.denominator = denominator
  }

  init(_ value: AVRational) {
    numerator = Int(value.num)
    denominator = Int(value.den)
  }
}

/// `count` ticks of `base` seconds in nanoseconds, rounded to the nearest, without overflow on the way.
func nanoseconds(_ count: Int64, of base: AVRational) -> Int64 {
  rescaled(count, base, to: AVRational(num: 1, den: 1_000_000_000))
}

/// `count` ticks of `base` seconds in nanoseconds, for any count: files may contain any time.
func wideNanoseconds(_ count: Int64, of base: AVRational) -> Int128 {
  let product = Int128(count) * Int128(base.num) * 1_000_000_000
  let half = Int128(base.den / 2)
  return (product + (product < 0 ? -half : half)) / Int128(max(1, base.den))
}

/// `count` ticks of `base` seconds in ticks of `target` seconds, rounded to the nearest.
func rescaled(_ count: Int64, _ base: AVRational, to target: AVRational) -> Int64 {
  rescaled(count, Int64(base.num) * Int64(target.den), Int64(target.num) * Int64(base.den))
}

/// `count * factor / divisor`, rounded to the nearest, and halves away from 0: as `av_rescale` has it, but
/// clocks use it where the library is not loaded. `Int64.min`, which means no time, where the result does
/// not fit or there is none.
func rescaled(_ count: Int64, _ factor: Int64, _ divisor: Int64) -> Int64 {
  guard factor >= 0, divisor > 0 else { return .min }
  let product = Int128(max(count, -.max)) * Int128(factor)
  let half = Int128(divisor / 2)
  return Int64(exactly: (product + (product < 0 ? -half : half)) / Int128(divisor)) ?? .min
}

extension Int64 {
  /// The sum, clamped to the range of `Int64`: files may contain any time.
  func clampedSum(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, clamped to the range of `Int64`.
  func clampedDifference(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (self < other ? .min : .max) : difference
  }
}

/// Gives every frame a time: the file's, or one made from the frame rate where the file has none. Both are
/// within `TimeGate.limit` of 0, like what the gate gives out: sums and differences of two do not overflow.
struct MediaClock {
  /// Seconds per frame.
  let frameDuration: AVRational
  /// The last time that the file gave, and the frames since.
  private var base: Int64 = 0
  private var framesSince: Int64 = 0
  private var hasBegun = false
  /// The last time, if it was made, or if one that was made lay ahead of the file's.
  private var made: Int64?

  /// `rate` in frames per second; without one, 25 as libavformat takes. Frames that come before the file
  /// gives a time are made to follow `start`.
  init(rate: MediaRational?, start: Int64 = 0) {
    base = start
    frameDuration =
      if let rate {
        AVRational(num: Int32(rate.denominator), den: Int32(rate.numerator))
      } else {
        AVRational(num: 1, den: 25)
      }
  }

  /// The time of the next frame. `given` is the file's, in nanoseconds, if it has one.
  mutating func time(given: Int64?) -> (nanoseconds: Int64, isMade: Bool) {
    defer { hasBegun = true }
    // `rescaled` returns `Int64.min` for a time that does not fit.
    if let given, given != .min {
      let own = TimeGate.bounded(Int128(given))
      // What was made by a rate that is not quite the file's may lie ahead: time does not go back.
      let time = max(own, made ?? own)
      (base, framesSince, made) = (time, 0, time > own ? time : nil)
      return (time, false)
    }
    if hasBegun { framesSince += 1 }
    let time = TimeGate.bounded(Int128(base) + wideNanoseconds(framesSince, of: frameDuration))
    made = time
    return (time, true)
  }
}
