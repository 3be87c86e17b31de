internal import CSprocketLibAV

/// Finds out from the times that a file gives its blocks of sound where samples are missing.
///
/// Times of many files are coarse (MKV: 1 ms) or not quite right, while samples follow each other. So a block
/// is placed behind the one before, unless the file's own time for it is off by half a block or more: a lost
/// packet is a whole one.
struct SoundClock {
  /// Where a block is.
  struct Place: Equatable {
    /// Of its first sample, in nanoseconds on the file's clock.
    var time: Int64
    /// Samples that are missing before it.
    var missing: UInt64 = 0
    /// Its time does not follow from those before.
    var isRestarted = false
  }

  /// Samples per second.
  let rate: Int32
  /// How far apart the times are that the file can tell, in nanoseconds.
  let tick: Int64
  /// Time of the first sample since the last restart, and how many samples were since, missing ones too.
  private var base: Int64?
  private var since: Int64 = 0
  /// Samples of the block before.
  private var lastCount: Int64 = 0

  /// Most that times may differ without samples being missing, in nanoseconds: 40 ms, where GStreamer too
  /// takes sound for torn (`alignment-threshold`). Larger: holes stay unnoticed, sound comes too early behind
  /// them.
  private static let tolerance: Int64 = 40_000_000
  /// Longest hole that is counted as missing, in nanoseconds, an hour as `FileSource` has it: behind a longer
  /// one, sound begins anew.
  private static let longestHole: Int64 = 3_600_000_000_000

  init(rate: Int32, tick: Int64) { (self.rate, self.tick) = (rate, tick) }

  /// Where the next `count` samples are; `given` is the file's time for them, in nanoseconds, if it has one.
  mutating func place(given: Int64?, count: Int) -> Place {
    defer {
      since += Int64(count)
      lastCount = Int64(count)
    }
    guard let base else {
      self.base = given ?? 0
      return Place(time: given ?? 0)
    }
    let expected = base.clampedSum(nanoseconds(since))
    let off = given?.clampedDifference(expected) ?? 0
    let most = max(min(nanoseconds(lastCount) / 2, Self.tolerance), tick.clampedSum(tick))
    if (-most...most).contains(off) { return Place(time: expected) }
    guard 0...Self.longestHole ~= off else {
      self.base = given
      since = 0
      return Place(time: given ?? 0, isRestarted: true)
    }
    let missing = missingSamples(off)
    since += missing
    return Place(time: base.clampedSum(nanoseconds(since)), missing: UInt64(missing))
  }

  /// Samples in that time; a number of whole blocks where the file's times cannot tell the difference.
  private func missingSamples(_ time: Int64) -> Int64 {
    let samples = rescaled(time, Int64(rate), 1_000_000_000)
    guard lastCount > 0 else { return samples }
    let whole = (samples + lastCount / 2) / lastCount * lastCount
    return whole > 0 && abs(nanoseconds(samples - whole)) <= tick ? whole : samples
  }

  private func nanoseconds(_ samples: Int64) -> Int64 {
    rescaled(samples, 1_000_000_000, Int64(rate))
  }
}
