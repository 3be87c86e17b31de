/// Computes from capture times the time between frames that a path is planned with, in ticks of 1/30 s;
/// always above 0, since paths are divided by it.
///
/// Real times count, not frames: after a gap there is more way to go. But where a clock is set back, or a
/// driver stamps frames in bursts, two neighbours have the same time, and the next is twice as late. A frame
/// then gets the usual time, and the next one the rest. Files also round times to a millisecond: a pan of 10
/// pixels per tick would shake by 0.3. Where the times are those of a regular grid, so rounded, the grid's
/// count (`FrameGrid`). Drivers are late by some milliseconds: differences so small are smoothed.
struct FrameClock {
  private var grid = FrameGrid()
  /// Smoothed ticks from frame to frame; 0 while unknown.
  private(set) var usualTicks = 0.0
  /// Ticks that the latest frame got beyond its capture time.
  private var advance = 0.0
  /// Ticks that the latest frame got (0 before the first), and the part of its time that it did not get,
  /// as rounding or lateness.
  private var pace = 0.0
  private var rest = 0.0

  /// Time between frames while nothing is known: 30 frames/s.
  private static let unknownTicks = 1.0
  /// Longest time between frames: 3 s. Larger: nothing more is to be learned of a camera after a gap.
  private static let mostTicks = 90.0
  /// Shortest usual time: 3000 frames/s. Smaller: divided by it, the planner's numbers lose precision.
  private static let leastTicks = 0.01
  /// Shortest time that the usual time is learned from, 3 ms, or half the usual time if that is less.
  /// Larger: bursts disturb it less, high frame rates are learned later.
  private static let leastCounted = 0.1
  /// Shortest time of a frame, as a fraction of the usual. Larger: more stamps count as wrong. By trial.
  private static let leastShare = 0.25
  /// Greatest rounding or lateness that is smoothed away: 2 ms, for files that round to 1 ms. Larger: real
  /// changes of the frame rate are followed later.
  private static let tolerance = 0.06

  /// Ticks since the frame before, by its capture time `seconds` earlier, which may be wrong or negative.
  mutating func ticks(_ seconds: Double) -> Double {
    let said = min(max(seconds * 30, -Self.mostTicks), Self.mostTicks)
    if let ticks = grid.add(said) {
      (usualTicks, pace) = (grid.period, grid.period)
      (advance, rest) = (0, 0)
      return ticks
    }
    if usualTicks == 0 {
      guard said > 0 else { return Self.unknownTicks }
      usualTicks = max(said, Self.leastTicks)
    }
    let usual = usualTicks
    let counted = min(max(said, min(Self.leastCounted, usual / 2)), 2 * usual)
    usualTicks = max(usual + (counted - usual) * 0.1, Self.leastTicks)
    let least = usual * Self.leastShare
    if said < least {
      advance = min(usual - said, 4 * usual)
      return usual
    }
    let left = said - advance
    // Several in a row may have been set back by as much.
    guard left >= least else { return said }
    advance = 0
    return even(left, least: least)
  }

  /// `ticks` (`least` or more) with the rest of earlier frames, smoothed; `least` or more.
  private mutating func even(_ ticks: Double, least: Double) -> Double {
    let due = ticks + rest
    let isNear = pace > 0 && abs(due - pace) < Self.tolerance
    pace = max(isNear ? pace + (due - pace) * 0.1 : due, least)
    rest = due - pace
    return pace
  }
}
