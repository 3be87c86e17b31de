import SprocketTestMemory
import TestExpectations
import Testing

@testable import SprocketCommandLine

extension TestRandom {
  private mutating func uniform() -> Double { Double.random(in: 0..<1, using: &self) }

  /// Normal noise around `level`; in one round of ten another program disturbs the measurement.
  fileprivate mutating func rounds(
    _ count: Int, around level: Double, noise: Double = 0.015
  ) -> Rounds {
    Rounds(
      (0..<count).map { _ in
        let normal = (0..<12).reduce(-6.0) { sum, _ in sum + uniform() }
        let disturbance = uniform() < 0.1 ? 1 + uniform() : 1
        return level * (1 + noise * normal) * disturbance
      })
  }
}

@Suite struct StatisticsTests {
  @Test func theMedianAndTheSpreadLeaveOutliersOut() {
    let rounds = Rounds([10, 11, 9, 10, 1000])
    expectEqual(rounds.median, 10)
    expectEqual(rounds.spread, 0.1)
    expectTrue(Rounds([4]).median == 4 && Rounds([4]).spread == 0)
    expectEqual(Rounds([1, 2, 3, 4]).median, 2.5)
  }

  @Test func theErrorIsThatOfTheMedian() {
    // Distances from 3: 2, 1, 0, 1, 96; their median is 1.
    expectLess(abs(Rounds([1, 2, 3, 4, 99]).error - 1.2533 * 1.4826 / 3 / 5.0.squareRoot()), 1e-12)
    expectTrue(Rounds([7, 7, 7]).error == 0 && Rounds([]).error == 0)
  }

  @Test func tenPercentMoreAreTold() {
    var noise = TestRandom(seed: 1)
    var missed = 0
    for _ in 0..<1000 {
      let (before, after) = (noise.rounds(10, around: 500), noise.rounds(10, around: 550))
      if Comparison(before, after).verdict != .more { missed += 1 }
      if Comparison(after, before).verdict != .less { missed += 1 }
    }
    expectAtMost(missed, 20)
  }

  @Test(arguments: [0.015, 0.05, 0.1], [0, 0.01, -0.01])
  func noiseAndDriftAreHardlyEverTold(deviation: Double, drift: Double) {
    var noise = TestRandom(seed: 2)
    let told = (0..<1000).count { _ in
      let before = noise.rounds(10, around: 500, noise: deviation)
      let after = noise.rounds(10, around: 500 * (1 + drift), noise: deviation)
      return Comparison(before, after).verdict != .same
    }
    expectAtMost(told, 10)
  }

  @Test func whatIsWithinItsOwnSpreadIsNotTold() {
    let wide = Rounds((0..<10).map { 100 + 10 * Double($0) })
    let higher = Rounds((0..<10).map { 115 + 10 * Double($0) })
    expectEqual(Comparison(wide, higher).verdict, .same)
  }

  /// In 4 rounds of 10 another program makes every frame slower by up to a half. This shifts the medians.
  @Test func theLeastTellsTenPercentOnABusyMachine() {
    var random = TestRandom(seed: 3)
    func session(_ level: Double) -> Rounds {
      Rounds(
        (0..<10).map { round in
          let disturbance = round < 4 ? 1 + Double.random(in: 0...0.5, using: &random) : 1
          return level * Double.random(in: 1...1.01, using: &random) * disturbance
        })
    }
    for _ in 0..<1000 {
      let (before, again, after) = (session(500), session(500), session(550))
      expectEqual(Comparison(least: before, again, resolution: 0.064).verdict, .same)
      expectEqual(Comparison(least: before, after, resolution: 0.064).verdict, .more)
      expectEqual(Comparison(least: after, before, resolution: 0.064).verdict, .less)
    }
  }

  @Test func manyRoundsHaveNoAdvantage() {
    let few = Rounds((0..<10).map { 105 + Double($0 % 3) })
    let many = Rounds(few.rounds + [Double](repeating: 80, count: 90))
    expectEqual(Comparison(least: many, few, resolution: 0.064).verdict, .same)
    expectEqual(Comparison(least: few, many, resolution: 0.064).verdict, .same)
  }

  /// As parts of the slower value, a spread of 150 % would hide any speed-up.
  @Test func aLargeSpeedUpIsToldWhateverTheSpread() {
    let slow = Rounds((0..<10).map { 1000 * (1 + 0.75 * Double($0)) })
    let fast = Rounds(slow.rounds.map { $0 / 100 })
    expectEqual(Comparison(least: slow, fast, resolution: 0.064).verdict, .less)
    expectEqual(Comparison(least: fast, slow, resolution: 0.064).verdict, .more)
    expectEqual(
      Comparison(least: slow, Rounds(slow.rounds.map { $0 / 2 }), resolution: 0.064).verdict, .same)
  }

  @Test func aDifferenceBelowTheResolutionIsNotTold() {
    let (short, long) = (
      Rounds([Double](repeating: 0.128, count: 10)), Rounds([Double](repeating: 0.192, count: 10))
    )
    expectEqual(Comparison(least: short, long, resolution: 0.064).verdict, .same)
    expectEqual(Comparison(least: short, long, resolution: 0.001).verdict, .more)
  }

  @Test func twoRoundsTellNothing() {
    let comparison = Comparison(Rounds([1, 1]), Rounds([9, 9]))
    expectEqual(comparison.verdict, .tooFewRounds)
    expectEqual(Comparison(Rounds([]), Rounds([])).verdict, .tooFewRounds)
  }
}
