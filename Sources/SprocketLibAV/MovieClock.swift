internal import CSprocketLibAV

/// Turns capture times into the ticks of a movie: the first frame at 0, the others rounded to the
/// nearest tick, each later than the one before.
///
/// A time that is not later than the frame before, as a driver may give it, becomes one tick more than
/// that: the frame is kept, and where times go on the movie is right again. `resume` is for clocks that
/// began anew.
public struct MovieClock: Sendable {
  /// Ticks per second.
  public let rate: Int32
  /// Frames that got a time one tick after the one before, because theirs was not later.
  public private(set) var movedFrames: UInt64 = 0
  /// The time that is tick 0, in nanoseconds.
  private var origin: Int64?
  private var last: Int64 = -1

  public init(rate: Int32) { self.rate = rate }

  /// `count` nanoseconds in ticks, to the nearest.
  func ticks(_ nanoseconds: Int64) -> Int64 {
    rescaled(nanoseconds, Int64(rate), 1_000_000_000)
  }

  /// The tick at a time that is no frame's; `nil` before the first frame.
  public func tick(of time: Int64) -> Int64? { origin.map { ticks(time.clampedDifference($0)) } }

  /// The tick of the next frame, captured at `time` nanoseconds.
  public mutating func tick(at time: Int64) -> Int64 {
    let start = origin ?? time
    origin = start
    var tick = ticks(time.clampedDifference(start))
    if tick <= last {
      tick = last + 1
      movedFrames += 1
    }
    last = tick
    return tick
  }

  /// The movie does not have `nanoseconds` before the next frame.
  public mutating func leaveOut(_ nanoseconds: Int64) { origin = origin?.clampedSum(nanoseconds) }

  /// The source began anew. If its clock did too, `time` is put `gap` nanoseconds behind the last
  /// frame; if it goes on, so does the movie.
  public mutating func resume(at time: Int64, gap: Int64) {
    guard let start = origin, ticks(time.clampedDifference(start)) <= last else { return }
    let end = rescaled(last, 1_000_000_000, Int64(rate))
    origin = time.clampedDifference(end).clampedDifference(gap)
  }
}
