/// Times of a track in a complete index, in ticks that are long enough for it.
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

  /// In ticks of the movie's own clock; rounded up, since players end where it says.
  func movieDuration(_ scale: UInt64) -> UInt64 {
    let (whole, rest) = ticksPerSecond.dividingFullWidth(length.multipliedFullWidth(by: scale))
    return rest > 0 ? whole + 1 : whole
  }
}
