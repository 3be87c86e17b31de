import TestExpectations
import TestSupport
import Testing

@testable import Stabilizer

@Suite struct FrameClockTests {
  /// Capture times of `count` frames, `rate` a second, late by up to `jitter` seconds each.
  private static func times(_ count: Int, rate: Double, jitter: Double, seed: UInt64) -> [Double] {
    var random = TestRandom(seed: seed)
    return (0..<count).map { frame in
      Double(frame) / rate + Double.random(in: 0...max(jitter, 1e-12), using: &random)
    }
  }

  private static func spans(_ times: [Double]) -> [Double] {
    var clock = FrameClock()
    return zip(times, times.dropFirst()).map { clock.ticks($1 - $0) }
  }

  /// Divided by nothing, or by less, a path becomes no number.
  @Test func everySpanIsAboveZero() {
    for (seed, jitter) in [0.0, 1e-4, 1e-3, 4e-3, 0.1].enumerated() {
      for rate in 1...2000 {
        let times = Self.times(60, rate: Double(rate), jitter: jitter, seed: UInt64(seed + 1))
        let least = Self.spans(times).min() ?? 0
        if least < 0.0025 { Issue.record("\(rate) frames/s, late by \(jitter) s: \(least) ticks") }
      }
    }
  }

  /// Also of times that no camera stamps.
  @Test func everySpanIsAboveZeroWhateverIsStamped() {
    let sizes = [0, 1e-9, 1e-4, 0.03, 4, 1e9]
    var random = TestRandom(seed: 3)
    var (least, most) = (1.0, 1.0)
    for _ in 0..<1000 {
      var clock = FrameClock()
      for _ in 0..<50 {
        let size = sizes[Int.random(in: sizes.indices, using: &random)]
        let ticks = clock.ticks(Double.random(in: -size...size, using: &random))
        (least, most) = (min(least, ticks), max(most, ticks))
      }
    }
    expectAtLeast(least, 0.0025, "\(least) to \(most) ticks")
    expectAtMost(most, 180, "\(least) to \(most) ticks")
  }

  /// Rounding and lateness are evened out, not added up.
  @Test func spansAddUpToTheTime() {
    for rate in [1.0, 5, 24, 30, 60, 120, 240, 500, 920, 1000, 1200, 2000] {
      for (seed, jitter) in [0.0, 1 / rate / 8, 1 / rate / 3].enumerated() {
        let times = Self.times(200, rate: rate, jitter: jitter, seed: UInt64(seed + 1))
        let (given, said) = (Self.spans(times).reduce(0, +), 30 * ((times.last ?? 0) - times[0]))
        expectLess(abs(given / said - 1), 0.1, "\(rate), \(jitter): \(given) ticks of \(said)")
      }
    }
  }

  /// A file and its copy in Matroska have the same grid; missing frames count.
  @Test(arguments: [10.0, 24, 25, 29.97, 30, 50, 60, 120])
  func timesRoundedToAMillisecondAreTheSame(rate: Double) {
    let frames = (0..<150).filter { $0 % 17 != 0 || $0 == 0 }
    let times = frames.map { Double($0) / rate }
    let rounded = times.map { ($0 * 1000).rounded() / 1000 }
    let (exact, given) = (Self.spans(times), Self.spans(rounded))
    for index in exact.indices {
      // 29.97 a second differ from 30 by a thousandth, and a few frames earlier or later.
      expectLess(abs(given[index] / exact[index] - 1), 1.01e-3, "frame \(index)")
      let truth = 30 * (times[index + 1] - times[index])
      expectLess(abs(exact[index] / truth - 1), 1.01e-3, "frame \(index)")
    }
  }

  /// A camera that is late by up to 4 ms, and one whose rate changes, have no grid.
  @Test func lateFramesAreNoGrid() {
    var grid = FrameGrid()
    let times = Self.times(300, rate: 30, jitter: 4e-3, seed: 5)
    var onGrid = 0
    for (from, to) in zip(times, times.dropFirst()) where grid.add(30 * (to - from)) != nil {
      onGrid += 1
    }
    expectLess(onGrid, 30)
    var clock = FrameClock()
    for _ in 0..<60 { _ = clock.ticks(1.0 / 30) }
    var last = 0.0
    for _ in 0..<60 { last = clock.ticks(1.0 / 20) }
    expectLess(abs(last - 1.5), 0.01)
  }

  /// The frames of a camera of 240 frames/s that is late by up to a frame: less uneven than stamped.
  @Test func evensOutLatenessAtHighRates() {
    let times = Self.times(480, rate: 240, jitter: 2e-3, seed: 9)
    let spans = Self.spans(times).dropFirst(60).map { $0 / 30 * 240 }
    for span in spans { expectLess(abs(span - 1), 0.3, "\(span) frames") }
  }

  /// Where frames come so fast and late, the planner's numbers stay numbers, and its window in the picture.
  @Test(arguments: [1.0, 60, 240, 920, 1000, 1200, 2000])
  func plansAtAnyRate(rate: Double) {
    let shake = Shake([10, 8, 0.004], seed: 31)
    for (lookahead, jitter) in [(0, 0.0), (4, 3.5e-3)] {
      let times = Self.times(40, rate: rate, jitter: jitter, seed: 11)
      var camera = HandheldCamera(40 / rate, rate: rate) { shake($0) }
      for index in camera.motions.indices.dropFirst() {
        camera.motions[index].seconds = times[index] - times[index - 1]
      }
      let planned = camera.planned(crop: 0.1, lookahead: lookahead)
      expectTrue(planned.allSatisfy { $0.isFinite })
      expectGreater(camera.leastReserve(planned), -1e-9)
    }
  }
}
