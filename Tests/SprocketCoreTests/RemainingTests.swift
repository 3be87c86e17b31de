import SprocketCore
import TestExpectations
import Testing

/// A reading is the upper end of a class: from the truth to a quarter above it.
private func reads(_ value: Int64, as truth: Int64) -> Bool {
  value >= truth && Double(value) <= 1.25 * Double(truth)
}

@Test func remainingIsZeroBeforeTheFirstFrame() {
  expectEqual(Remaining().p95, 0)
}

@Test func remainingReadsEveryDurationWithinAQuarter() {
  for exponent in 14..<37 {
    for duration in [Int64(1) << exponent + 1, (Int64(1) << exponent) * 3 / 2] {
      let remaining = Remaining()
      remaining.record(nanoseconds: duration)
      expectTrue(reads(remaining.p95, as: duration), "\(duration) ns, read \(remaining.p95)")
    }
  }
}

@Test func remainingIsThe95thPercentileOfTheLast256() {
  let remaining = Remaining()
  for _ in 0..<1000 { remaining.record(nanoseconds: 1_000_000) }
  // 5 % of 256 is 12.8: twelve outliers do not move the percentile, the thirteenth does.
  for _ in 0..<12 { remaining.record(nanoseconds: 50_000_000) }
  expectTrue(reads(remaining.p95, as: 1_000_000))
  remaining.record(nanoseconds: 50_000_000)
  expectTrue(reads(remaining.p95, as: 50_000_000))
  for _ in 0..<243 { remaining.record(nanoseconds: 1_000_000) }
  expectTrue(reads(remaining.p95, as: 50_000_000))
  remaining.record(nanoseconds: 1_000_000)
  expectTrue(reads(remaining.p95, as: 1_000_000))
}

@Test func remainingForgetsWhenItIsMeasuredAnew() {
  let remaining = Remaining()
  for _ in 0..<300 { remaining.record(nanoseconds: 50_000_000) }
  remaining.measureAnew()
  expectTrue(reads(remaining.p95, as: 50_000_000), "nothing newer has been measured")
  remaining.record(nanoseconds: 1_000_000)
  expectTrue(reads(remaining.p95, as: 1_000_000))
}
