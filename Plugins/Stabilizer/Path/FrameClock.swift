/// Makes of capture times how much time a path has from frame to frame, in ticks of 1/30 s. It is always
/// above 0: paths are divided by it.
///
/// Real times count, not frames: after a gap there is more to go. But clocks that are set back, and
/// drivers that stamp frames in bursts, say of two neighbours that no time has passed, and of the next
/// that twice as much has. A frame is then given the usual time, and the next what is left. And files
/// round times to a millisecond, and drivers are late by as much: a pan of 10 pixels per tick would
/// shake by 0.3. Times so near those before are followed slowly.
struct FrameClock {
  /// From frame to frame as a rule; 0 while that is unknown.
  private(set) var usualTicks = 0.0
  /// Given to the latest frame beyond what its capture time said.
  private var advance = 0.0
  /// What the latest frame was given, and what of its time was not, as rounding or lateness. No frame
  /// has been given any yet while that is 0.
  private var pace = 0.0
  private var rest = 0.0

  /// 30 frames a second where nothing is known.
  private static let unknownTicks = 1.0
  /// Gaps of more than 3 s say no more than one of 3 s.
  private static let mostTicks = 90.0
  /// The least that is taken for usual: 3000 frames a second. Divided by less, the planner's numbers
  /// lose their precision.
  private static let leastTicks = 0.01
  /// A shorter time counts for that in the mean, 3 ms, or for half the usual if that is less.
  private static let leastCounted = 0.1
  /// Of the usual, the least that any frame is given.
  private static let leastShare = 0.25
  /// Rounding and lateness: 2 ms.
  private static let tolerance = 0.06

  /// Ticks since the frame before, which was captured `seconds` earlier; 0 or less is no time at all.
  mutating func ticks(_ seconds: Double) -> Double {
    let said = min(max(seconds * 30, -Self.mostTicks), Self.mostTicks)
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

  /// `ticks`, which is `least` or more, and what rest there is of those before; `least` or more.
  private mutating func even(_ ticks: Double, least: Double) -> Double {
    let due = ticks + rest
    let isNear = pace > 0 && abs(due - pace) < Self.tolerance
    pace = max(isNear ? pace + (due - pace) * 0.1 : due, least)
    rest = due - pace
    return pace
  }
}
