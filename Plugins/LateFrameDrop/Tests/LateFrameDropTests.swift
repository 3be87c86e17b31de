import LateFrameDrop
import SprocketTesting
import TestExpectations
import Testing

/// A frame captured `age` milliseconds ago.
private func frame(age: Int64, clock: Timestamp.Clock = .monotonic) -> TestFrame {
  var frame = TestFrame(width: 1, height: 1, luma: [0])
  frame.record.captured = Timestamp(nanoseconds: 5_000_000_000, clock: clock)
  frame.now = 5_000_000_000 + age * 1_000_000
  return frame
}

private func verdict(_ stage: inout StageUnderTest<LateFrameDrop>, _ frame: TestFrame) -> Verdict {
  stage.process(frame).verdict
}

@Test func dropsAsLateBeyondTheDefaultOfAHundredMilliseconds() throws {
  var stage = try StageUnderTest(LateFrameDrop(), for: frame(age: 0))
  expectEqual(verdict(&stage, frame(age: 100)), .keep)
  expectEqual(verdict(&stage, frame(age: 101)), .drop(.late))
}

@Test func addsWhatRemains() throws {
  let remaining = Remaining()
  var stage = try StageUnderTest(LateFrameDrop(), for: frame(age: 0), remaining: remaining)
  expectEqual(verdict(&stage, frame(age: 50)), .keep)
  // 80 ms is read as at least that, and at most a quarter more.
  remaining.record(nanoseconds: 80_000_000)
  expectEqual(verdict(&stage, frame(age: 50)), .drop(.late))
  expectEqual(verdict(&stage, frame(age: 0)), .keep)
}

@Test func doesNothingWhereFramesWait() throws {
  var stage = try StageUnderTest(LateFrameDrop(), for: frame(age: 0), isLive: false)
  expectEqual(verdict(&stage, frame(age: 10_000)), .keep)
  expectNil(stage.ageBudget)
}

@Test func doesNothingWhereTheClockIsNotMonotonic() throws {
  var stage = try StageUnderTest(LateFrameDrop(), for: frame(age: 0))
  expectEqual(verdict(&stage, frame(age: 10_000, clock: .media)), .keep)
}

@Test func takesItsBudgetFromTheUser() throws {
  let choice = try StageChoice(LateFrameDrop.plugin, ["budget": "250ms"])
  let made = try #require(choice.plugin.stages[0].make(choice.settings) as? LateFrameDrop)
  var stage = try StageUnderTest(made, for: frame(age: 0))
  expectEqual(verdict(&stage, frame(age: 250)), .keep)
  expectEqual(verdict(&stage, frame(age: 251)), .drop(.late))
  expectEqual(stage.ageBudget, .milliseconds(250))
}

@Test func aLiveChangeOfTheBudgetHoldsAtOnce() throws {
  var stage = try StageUnderTest(LateFrameDrop(), for: frame(age: 0))
  expectEqual(verdict(&stage, frame(age: 150)), .drop(.late))
  expectEqual(stage.change { $0.budget = .milliseconds(200) }, 0)
  expectEqual(verdict(&stage, frame(age: 150)), .keep)
  expectEqual(stage.change { $0.budget = .milliseconds(20) }, 0)
  expectEqual(verdict(&stage, frame(age: 21)), .drop(.late))
  expectEqual(verdict(&stage, frame(age: 20)), .keep)
}

@Test func readsNoPixels() throws {
  let stage = try StageUnderTest(LateFrameDrop(), for: frame(age: 0))
  expectTrue(stage.parts.isEmpty)
}

/// Frames that pass take `duration`; returns how many of `count` passed.
private func run(
  _ stage: inout StageUnderTest<LateFrameDrop>, _ remaining: Remaining, count: Int, duration: Int64
) -> Int {
  (0..<count).count { _ in
    guard verdict(&stage, frame(age: 10)) == .keep else { return false }
    remaining.record(nanoseconds: duration)
    return true
  }
}

@Test func recoversFromAStallWithinSixteenFrames() throws {
  let remaining = Remaining()
  var stage = try StageUnderTest(LateFrameDrop(), for: frame(age: 0), remaining: remaining)
  expectEqual(run(&stage, remaining, count: 300, duration: 5_000_000), 300)
  // A disk that hangs: 50 frames in flight take half a second each.
  for _ in 0..<50 { remaining.record(nanoseconds: 500_000_000) }
  expectEqual(run(&stage, remaining, count: 16, duration: 5_000_000), 1)
  expectEqual(run(&stage, remaining, count: 300, duration: 5_000_000), 300)
}

@Test func keepsDroppingWhileTheChainIsTooSlow() throws {
  let remaining = Remaining()
  var stage = try StageUnderTest(LateFrameDrop(), for: frame(age: 0), remaining: remaining)
  // The first passes unmeasured, then one in 16.
  expectEqual(run(&stage, remaining, count: 161, duration: 500_000_000), 11)
}
