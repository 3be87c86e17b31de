import TestExpectations
import Testing

@testable import LateFrameDrop

@Test func keepsWhatArrivesWithinTheBudget() {
  var policy = LatePolicy(budget: 100)
  expectEqual(policy.decide(age: 60, remaining: 40), .keep)
  expectEqual(policy.decide(age: 0, remaining: 0), .keep)
}

@Test func dropsWhatWouldBeOlderThanTheBudgetAtTheEnd() {
  var policy = LatePolicy(budget: 100)
  expectEqual(policy.decide(age: 61, remaining: 40), .drop)
  expectEqual(policy.decide(age: 0, remaining: 101), .drop)
}

@Test func keepsWhatHasNoAge() {
  var policy = LatePolicy(budget: 100)
  expectEqual(policy.decide(age: nil, remaining: 1_000_000), .keep)
}

@Test func keepsAFrameFromTheFuture() {
  // A device's clock that steps back shows as a negative age.
  var policy = LatePolicy(budget: 100)
  expectEqual(policy.decide(age: -50, remaining: 120), .keep)
}

@Test func neverOverflows() {
  var policy = LatePolicy(budget: 100)
  expectEqual(policy.decide(age: .max, remaining: .max), .drop)
}

@Test func passesOneFrameInSixteenWhileAllIsLate() {
  var policy = LatePolicy(budget: 100)
  let actions = (0..<48).map { _ in policy.decide(age: 10, remaining: 200) }
  let cycle = [LatePolicy.Action](repeating: .drop, count: 15) + [.probe]
  expectEqual(actions, cycle + cycle + cycle)
}

@Test func countsOnlyDropsInARow() {
  var policy = LatePolicy(budget: 100)
  for _ in 0..<10 { expectEqual(policy.decide(age: 101, remaining: 0), .drop) }
  expectEqual(policy.decide(age: 99, remaining: 0), .keep)
  for _ in 0..<15 { expectEqual(policy.decide(age: 101, remaining: 0), .drop) }
  expectEqual(policy.decide(age: 101, remaining: 0), .probe)
}
