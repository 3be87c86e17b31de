import TestExpectations
import Testing

@testable import RepeatedFrameDrop

@Test func aFrameThatDiffersAlwaysPasses() {
  var policy = RepeatPolicy(period: 100)
  for time in 0..<50 { expectTrue(policy.passes(captured: Int64(time), isRepeat: false)) }
}

@Test func ofRepeatsTheFirstInEachPeriodPasses() {
  var policy = RepeatPolicy(period: 100)
  let passed = stride(from: 0, to: 400, by: 30).filter {
    policy.passes(captured: Int64($0), isRepeat: $0 > 0)
  }
  expectEqual(passed, [0, 120, 210, 300])
}

@Test func periodsBelowZeroAreAsLongAsOthers() {
  var policy = RepeatPolicy(period: 100)
  let passed = stride(from: -200, to: 200, by: 50).filter {
    policy.passes(captured: Int64($0), isRepeat: true)
  }
  expectEqual(passed, [-200, -100, 0, 100])
}

@Test func noTimeOverflows() {
  var policy = RepeatPolicy(period: 1)
  expectTrue(policy.passes(captured: .max, isRepeat: true))
  expectTrue(policy.passes(captured: .min, isRepeat: true))
}

@Test func anotherPeriodBeginsAnew() {
  var policy = RepeatPolicy(period: 100)
  _ = policy.passes(captured: 10, isRepeat: false)
  policy.period = 1000
  expectTrue(policy.passes(captured: 20, isRepeat: true))
  policy.period = 1000
  expectFalse(policy.passes(captured: 30, isRepeat: true))
}
