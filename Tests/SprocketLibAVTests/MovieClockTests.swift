import TestExpectations
import Testing

@testable import SprocketLibAV

@Suite struct MovieClockTests {
  @Test func roundsToTheNearestTickFromTheFirstFrame() {
    var clock = MovieClock(rate: 90000)
    // A tick is 11,111.1 ns.
    let times: [Int64] = [
      5_000_000_007, 5_000_005_562, 5_000_016_674, 5_033_333_340, 6_000_000_007,
    ]
    expectEqual(times.map { clock.tick(at: $0) }, [0, 1, 2, 3000, 90000])
    // 5,555 ns are less than half a tick.
    clock = MovieClock(rate: 90000)
    expectEqual([0, 22_222 + 5_555, 22_223 + 5_556].map { clock.tick(at: $0) }, [0, 2, 3])
  }

  @Test func staysExactForDays() {
    var clock = MovieClock(rate: 90000)
    _ = clock.tick(at: 0)
    let day: Int64 = 86_400_000_000_000
    expectEqual(clock.tick(at: 30 * day), 30 * 86_400 * 90000)
  }

  @Test func movesWhatIsNotLaterOneTickOn() {
    var clock = MovieClock(rate: 1000)
    let times: [Int64] = [0, 33, 33, 20, 66].map { $0 * 1_000_000 }
    expectEqual(times.map { clock.tick(at: $0) }, [0, 33, 34, 35, 66])
    expectEqual(clock.movedFrames, 2)
  }

  @Test func goesOnWhereTheSourceBeganAnew() {
    var clock = MovieClock(rate: 1000)
    _ = clock.tick(at: 7_000_000_000)
    expectEqual(clock.tick(at: 8_000_000_000), 1000)
    // A clock that began at 0 again.
    clock.resume(at: 0, gap: 40_000_000)
    expectEqual(clock.tick(at: 0), 1040)
    expectEqual(clock.tick(at: 40_000_000), 1080)
    // One that went on: the time in between is in the movie.
    clock.resume(at: 2_000_000_000, gap: 40_000_000)
    expectEqual(clock.tick(at: 2_000_000_000), 3040)
    expectEqual(clock.movedFrames, 0)
  }

  @Test(arguments: [
    ("a.mov", MovieContainer.mov), ("b/a.MP4", .mp4), ("a.b.mkv", .mkv), ("a.avi", nil),
    ("mov", nil), (".mov", nil), ("a.mov/", nil), ("a.mov/b", nil), ("", nil),
  ]) func theEndingSaysWhatKindOfFile(path: String, container: MovieContainer?) {
    expectEqual(MovieContainer(path: path), container)
  }
}

@Suite struct SampleTableTests {
  @Test func runsOfEqualDurationsAreOne() {
    var table = SampleTable(ticksPerSecond: 90_000)
    for tick: Int64 in [0, 10, 20, 35, 50, 60] { table.append(byteCount: 7, tick: tick) }
    table.close(nominal: nil)
    expectEqual(
      table.durations,
      [
        .init(count: 2, value: 10), .init(count: 2, value: 15), .init(count: 2, value: 10),
      ])
    expectEqual(table.duration, 70)
  }

  /// Files of key pictures alone, and tracks of sound, need no list of keys.
  @Test func keysAreListedOnlyBesideOtherPictures() {
    var keys = SampleTable(ticksPerSecond: 90_000)
    for tick: Int64 in 0..<3 { keys.append(byteCount: 7, tick: tick) }
    expectFalse(keys.hasReferences)
    expectEmpty(keys.keys)
    var sound = SampleTable(ticksPerSecond: 48_000, sampleBytes: 2)
    sound.append(samples: 480)
    expectFalse(sound.hasReferences)
    for tick: Int64 in 3..<6 { keys.append(byteCount: 7, tick: tick, isKey: tick == 5) }
    expectTrue(keys.hasReferences && keys.keys == [1, 2, 3, 6])
    var late = SampleTable(ticksPerSecond: 90_000)
    for tick: Int64 in 0..<3 { late.append(byteCount: 7, tick: tick, isKey: tick == 1) }
    expectEqual(late.keys, [2])
  }

  /// A hole of four days divides the ticks by 18; the three pictures before it round to one of the new ticks.
  @Test func aSampleLastsATickAtLeastWhereTicksAreDivided() {
    var table = SampleTable(ticksPerSecond: 90_000)
    for tick: Int64 in [0, 1, 2, 34_717_619_340, 34_717_622_340] {
      table.append(byteCount: 7, tick: tick)
    }
    table.close(nominal: 3000)
    expectEqual(table.divisor, 18)
    expectEqual(
      table.times(dividedBy: 18).durations,
      [
        .init(count: 2, value: 1), .init(count: 1, value: 1_928_756_628),
        .init(count: 1, value: 167), .init(count: 1, value: 166),
      ])
  }

  @Test func theLastFrameLastsAsLongAsTheNominalRateSays() {
    var table = SampleTable(ticksPerSecond: 90_000)
    for tick: Int64 in [0, 10] { table.append(byteCount: 7, tick: tick) }
    table.close(nominal: 3)
    expectEqual(table.duration, 13)
    var single = SampleTable(ticksPerSecond: 90_000)
    single.append(byteCount: 1, tick: 0)
    single.close(nominal: nil)
    expectEqual(single.duration, 1)
  }

  @Test func aChunkIsAFragmentsFrames() {
    var table = SampleTable(ticksPerSecond: 90_000)
    for tick: Int64 in 0..<3 { table.append(byteCount: 100, tick: tick) }
    table.endChunk(at: 1000)
    table.endChunk(at: 1000)
    for tick: Int64 in 3..<6 { table.append(byteCount: 200, tick: tick) }
    table.endChunk(at: 5000)
    table.append(byteCount: 1, tick: 6)
    table.endChunk(at: 6000)
    expectEqual(table.offsets, [700, 4400, 5999])
    expectEqual(table.chunks, [.init(count: 2, value: 3), .init(count: 1, value: 1)])
    expectEqual(table.sizes, [100, 100, 100, 200, 200, 200, 1])
  }

  @Test func theEdgesOfTimeAreNoTrap() {
    var clock = MovieClock(rate: 90_000)
    var last: Int64 = -1
    for time: Int64 in [.min, .max, 0, .min] {
      let tick = clock.tick(at: time)
      expectGreater(tick, last)
      last = tick
      clock.resume(at: .min, gap: .max)
    }
  }
}
