import SprocketCore
import TestExpectations
import Testing

/// Dates of devices, and of frames.
@Suite struct WallClockTests {
  @Test func aDateIsFoundAgain() {
    let date: Int64 = 1_800_000_000_123_456_789
    let time = Timestamp(nanosecondsSince1970: date)
    expectEqual(time.clock, .monotonic)
    expectEqual(time.nanosecondsSince1970, date)
    // Half a second apart on the one clock is half a second on the other.
    let later = Timestamp(nanosecondsSince1970: date + 500_000_000)
    expectEqual(later.nanoseconds(since: time), 500_000_000)
  }

  @Test func timesOfFilesHaveNoDate() {
    expectNil(Timestamp(nanoseconds: 5, clock: .media).nanosecondsSince1970)
    expectNil(Timestamp(nanoseconds: 5, clock: .recorded).nanosecondsSince1970)
  }

  @Test func datesOfAnyDeviceAreTaken() {
    for date in [Int64.min, 0, .max] {
      let time = Timestamp(nanosecondsSince1970: date)
      expectEqual(time.nanosecondsSince1970 == nil, false)
    }
  }
}
