import TestExpectations
import Testing

@testable import SprocketLibAV

@Suite struct MediaClockTests {
  @Test func makesTimesFromTheFrameRateWithoutDrift() {
    var clock = MediaClock(rate: MediaRational(30000, 1001))
    let made = (0..<30001).map { _ in clock.time(given: nil) }
    expectTrue(made[0].nanoseconds == 0 && made[0].isMade)
    // 1001 / 30000 s, and 1001 s exactly.
    expectEqual(made[1].nanoseconds, 33_366_667)
    expectEqual(made[30000].nanoseconds, 1_001_000_000_000)
  }

  @Test func goesOnFromTheLastTimeGiven() {
    var clock = MediaClock(rate: MediaRational(10, 1))
    #expect(clock.time(given: 5) == (5, false))
    #expect(clock.time(given: nil) == (100_000_005, true))
    #expect(clock.time(given: nil) == (200_000_005, true))
    #expect(clock.time(given: 1_000_000_000) == (1_000_000_000, false))
    #expect(clock.time(given: nil) == (1_100_000_000, true))
  }

  @Test func timeDoesNotGoBackBehindAMadeOne() {
    var clock = MediaClock(rate: MediaRational(10, 1))
    _ = clock.time(given: 0)
    #expect(clock.time(given: nil) == (100_000_000, true))
    #expect(clock.time(given: 99_999_999) == (100_000_000, false))
    // Not at the next one, either.
    #expect(clock.time(given: 99_999_999) == (100_000_000, false))
    #expect(clock.time(given: 100_000_001) == (100_000_001, false))
  }

  @Test func aTimeAtTheEndOfTimeIsNotTheEnd() {
    var clock = MediaClock(rate: MediaRational(10, 1))
    let limit: Int64 = 4_611_686_018_427_387_903
    #expect(clock.time(given: .max - 5) == (limit, false))
    #expect(clock.time(given: nil) == (limit, true))
    #expect(clock.time(given: nil) == (limit, true))
    clock = MediaClock(rate: MediaRational(10, 1))
    #expect(clock.time(given: -.max) == (-limit, false))
    // No time.
    #expect(clock.time(given: .min) == (100_000_000 - limit, true))
  }

  /// Five frames at 68 years each.
  @Test func madeTimesStayWithinTheLimit() {
    var clock = MediaClock(rate: MediaRational(1, 2_147_483_647))
    let made = (0..<5).map { _ in clock.time(given: nil).nanoseconds }
    let year68: Int64 = 2_147_483_647_000_000_000
    let limit: Int64 = 4_611_686_018_427_387_903
    expectEqual(made, [0, year68, 2 * year68, limit, limit])
  }

  @Test func withoutARateItTakes25() {
    var clock = MediaClock(rate: nil)
    _ = clock.time(given: nil)
    expectEqual(clock.time(given: nil).nanoseconds, 40_000_000)
  }
}
