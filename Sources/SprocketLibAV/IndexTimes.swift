/// Times of a track as the complete index stores them, in ticks so long that each value fits.
struct IndexTimes {
  let divisor: UInt64
  let ticksPerSecond: UInt64
  let durations: [SampleTable.Run<UInt64>]
  let shifts: [SampleTable.Run<Int64>]
  /// How long the track is shown.
  let length: UInt64

  init(_ table: SampleTable) {
    divisor = table.divisor
    ticksPerSecond = UInt64(table.ticksPerSecond) / divisor
    (durations, shifts, length) = table.times(dividedBy: divisor)
  }

  /// Duration in ticks of the movie's clock, rounded up: players stop there.
  func movieDuration(_ scale: UInt64) -> UInt64 {
    let (whole, rest) = ticksPerSecond.dividingFullWidth(length.multipliedFullWidth(by: scale))
    return rest > 0 ? whole + 1 : whole
  }
}
