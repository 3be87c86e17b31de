/// Finds the regular times that capture times were rounded from, so that a file's copy whose times are whole
/// milliseconds gives the same path as the file.
///
/// Each capture time leaves a range of periods that it can be explained with; the usual frame rate within
/// what is left of it, or else its middle, is the period. Lengths are in ticks of 1/30 s.
struct FrameGrid {
  /// The grid's period; valid where `add` has returned ticks.
  private(set) var period = 0.0
  /// Shortest and longest possible period.
  private var (least, most) = (0.0, Double.infinity)
  /// Ticks since the grid began, and in periods.
  private var (elapsed, count) = (0.0, 0.0)
  /// Frames before the grid counts: none at first, some after times that are no grid's.
  private var doubt = 0

  /// Error of the difference of two times that are rounded to a millisecond. Larger: times that are not
  /// rounded but late are taken for a grid's.
  private static let rounding = 0.03
  /// Shortest period, 2.1 ms: shorter ones cannot be told from each other by rounded times. Larger: fewer
  /// frame rates are recognised.
  private static let leastPeriod = 0.063
  /// Frames on the grid after one that was not, before it counts again. Larger: a grid is recognised later,
  /// late frames are less often taken for one.
  private static let doubtFrames = 10
  /// In frames per second; the first that fits is taken.
  private static let usualRates: InlineArray<17, Double> = [
    30, 25, 24, 60, 50, 120, 15, 10, 20, 12, 5, 48, 90, 100, 240, 30000 / 1001.0, 24000 / 1001.0,
  ]

  /// Ticks from the frame before on the grid, for one that is `said` later by its time; `nil` while the times
  /// are no grid's.
  mutating func add(_ said: Double) -> Double? {
    let steps = count > 0 ? (said / period).rounded() : 1
    let (elapsed, count) = (elapsed + said, count + steps)
    let low = max(least, (elapsed - Self.rounding) / count)
    let high = min(most, (elapsed + Self.rounding) / count)
    guard steps > 0, low <= high, high > Self.leastPeriod, low > 0 else {
      // The next frame begins another grid, where the clock goes on.
      self = FrameGrid()
      doubt = Self.doubtFrames
      return nil
    }
    (self.elapsed, self.count, least, most) = (elapsed, count, low, high)
    period = (low + high) / 2
    for index in Self.usualRates.indices {
      let usual = 30 / Self.usualRates[index]
      guard usual >= low, usual <= high else { continue }
      period = usual
      break
    }
    doubt -= 1
    return doubt < 0 ? steps * period : nil
  }
}
