import TestExpectations
import Testing

@testable import SprocketLibAV

@Suite struct SoundClockTests {
  /// Places blocks of 1024 samples at 48 kHz: 21,333,333 ns each.
  static func places(_ times: [Int64?], tick: Int64 = 1_000_000, count: Int = 1024)
    -> [SoundClock.Place]
  {
    var clock = SoundClock(rate: 48_000, tick: tick)
    return times.map { clock.place(given: $0, count: count) }
  }

  @Test func coarseTimesBecomeExact() {
    let places = Self.places([0, 21_000_000, 43_000_000, 64_000_000])
    expectEqual(places.map(\.time), [0, 21_333_333, 42_666_667, 64_000_000])
    expectTrue(places.allSatisfy { $0.missing == 0 && !$0.isRestarted })
  }

  @Test func blocksWithoutATimeFollowTheOneBefore() {
    expectEqual(Self.places([nil, nil]).map(\.time), [0, 21_333_333])
    expectEqual(Self.places([5, nil, nil]).map(\.time), [5, 21_333_338, 42_666_672])
  }

  /// However coarse the file's times are, a lost packet is one.
  @Test func lostPacketsAreCountedInWholeBlocks() {
    let places = Self.places([0, 43_000_000, 64_000_000, 149_000_000])
    expectEqual(places.map(\.missing), [0, 1024, 0, 3072])
    expectEqual(places.map(\.time), [0, 42_666_667, 64_000_000, 149_333_333])
  }

  @Test func aHoleOfAnyLengthIsCountedToTheSample() {
    // 30 ms at a fine clock.
    let places = Self.places([0, 51_333_333, 72_666_667], tick: 11_111)
    expectEqual(places.map(\.missing), [0, 1440, 0])
    expectEqual(places[1].time, 51_333_333)
  }

  /// A clock that is 100 ppm off is no hole until it is 10 ms off: half a block.
  @Test func driftIsNoHole() {
    var clock = SoundClock(rate: 48_000, tick: 11_111)
    for block: Int64 in 0..<4_000 {
      let place = clock.place(given: block * 21_335_467, count: 1024)
      expectEqual(place.missing, 0)
      expectFalse(place.isRestarted)
    }
  }

  @Test func timeThatGoesBackBeginsAnew() {
    let places = Self.places([10_000_000_000, 5_000_000_000, 5_021_333_333])
    expectEqual(places.map(\.isRestarted), [false, true, false])
    expectEqual(places.map(\.time), [10_000_000_000, 5_000_000_000, 5_021_333_333])
    expectEqual(places.map(\.missing), [0, 0, 0])
  }

  @Test func moreThanAnHourIsNoHole() {
    let hour: Int64 = 3_600_000_000_000
    expectEqual(Self.places([0, hour / 2])[1].missing, UInt64(86_400_000 - 1024))
    let places = Self.places([0, 2 * hour])
    expectEqual(places[1], SoundClock.Place(time: 2 * hour, isRestarted: true))
  }

  @Test(arguments: [1, 1_000_000, Int64.max]) func theEdgesOfTimeAreNoTrap(tick: Int64) {
    for times: [Int64?] in [
      [.min, .max, .min, nil], [.max, nil, nil, 0], [.min, nil, -1, 0], [0, .max, nil, .min],
    ] {
      let places = Self.places(times, tick: tick, count: 1 << 30)
      expectEqual(places.count, 4)
    }
  }
}
