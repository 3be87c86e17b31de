import SprocketCore
import TestExpectations
import Testing

@testable import SprocketSinks

@Suite struct ConstantRateTests {
  /// Frames count as kept when the pictures that show them are.
  @Test func framesAreKeptWithTheirPictures() throws {
    var rate = ConstantRate(FrameRate(frames: 10), ticksPerSecond: 1000)
    // In ticks of 1 ms: pictures 0, 0 (left out), 1, 4 (2 and 3 repeat), 4 (left out).
    var places: [ConstantRate.Place] = []
    for tick: Int64 in [0, 20, 100, 410, 430] {
      let place = rate.place(tick)
      places.append(try #require(place))
    }
    expectEqual(places.map(\.picture), [0, nil, 1, 4, nil])
    expectEqual(places.map(\.repeats.count), [0, 0, 0, 2, 0])
    expectEqual(rate.repeated, 2)
    expectEqual(rate.leftOut, 2)
    var kept: [UInt64] = []
    for pictures: UInt64 in [0, 1, 2, 4, 5] { kept.append(rate.frames(in: pictures)) }
    expectEqual(kept, [0, 2, 3, 3, 5])
    // Its picture is kept already: so is the frame.
    _ = rate.place(440)
    let all = rate.frames(in: 5)
    expectEqual(all, 6)
  }

  /// In the middle between two pictures the earlier one is taken, also where ticks are rounded.
  @Test(arguments: [Int32(1000), 90_000]) func halfOfARateKeepsEverySecondFrame(ticks: Int32) throws
  {
    var rate = ConstantRate(FrameRate(frames: 30), ticksPerSecond: ticks)
    for frame in 0..<600 {
      let tick = Int64((Double(frame) / 60 * Double(ticks)).rounded())
      let place = rate.place(tick)
      expectEqual(place?.picture, (frame % 2 == 0 ? Int64(frame / 2) : nil))
    }
    expectEqual(rate.repeated, 0)
  }

  @Test func endlessGapsAreNotFilled() {
    var rate = ConstantRate(FrameRate(frames: 30), ticksPerSecond: 90_000)
    let places = [rate.place(0), rate.place(90_000 * 3599), rate.place(.max)]
    expectEqual(places.map { $0 == nil }, [false, false, true])
  }
}
