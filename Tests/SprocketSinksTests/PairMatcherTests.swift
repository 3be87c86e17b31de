import SprocketTestMemory
import TestExpectations
import Testing

@testable import SprocketSinks

/// Frames of two sources are paired as by a slow matcher that knows all frames.
struct PairMatcherTests {
  typealias Item = PairMatcher.Item

  private func outcomes(
    _ series: [[Int64]], tolerance: Int64, order: [Int]
  ) -> [PairMatcher.Outcome] {
    var matcher = PairMatcher(tolerance: tolerance)
    var found: [PairMatcher.Outcome] = []
    var next = [0, 0]
    func take() { while let outcome = matcher.next() { found.append(outcome) } }
    for side in order {
      matcher.add(Item(number: UInt64(next[side]), time: series[side][next[side]]), side: side)
      next[side] += 1
      take()
    }
    matcher.end(side: 0)
    take()
    matcher.end(side: 1)
    take()
    return found
  }

  @Test("how far apart the nearest frames are that are no pair")
  func leastMiss() {
    var matcher = PairMatcher(tolerance: 5)
    expectEqual(matcher.leastMiss, .max)
    for (side, time) in [(0, 0), (1, 12), (0, 20), (1, 32), (0, 40)] as [(Int, Int64)] {
      matcher.add(Item(number: 0, time: time), side: side)
      while matcher.next() != nil {}
    }
    expectEqual(matcher.leastMiss, 8)
  }

  private func pairs(_ outcomes: [PairMatcher.Outcome]) -> [[Int64]] {
    outcomes.compactMap { outcome in
      if case .pair(let first, let second) = outcome { return [first.time, second.time] }
      return nil
    }
  }

  /// Goes through both series in the order of time.
  private func expected(_ series: [[Int64]], tolerance: Int64) -> [[Int64]] {
    var pairs: [[Int64]] = []
    var (first, second) = (0, 0)
    while first < series[0].count, second < series[1].count {
      let (one, other) = (series[0][first], series[1][second])
      let isFirstEarly = one <= other
      let following =
        isFirstEarly
        ? series[0].dropFirst(first + 1).first : series[1].dropFirst(second + 1).first
      let isNearer = following.map { abs($0 - (isFirstEarly ? other : one)) < abs(one - other) }
      if abs(one - other) > tolerance || isNearer == true {
        if isFirstEarly { first += 1 } else { second += 1 }
        continue
      }
      pairs.append([one, other])
      first += 1
      second += 1
    }
    return pairs
  }

  @Test func anyOrderOfArrivalGivesTheSamePairs() {
    var random = TestRandom(seed: 17)
    for _ in 0..<300 {
      let series: [[Int64]] = (0..<2).map { _ in
        var time = Int64.random(in: 0..<50, using: &random)
        return (0..<Int.random(in: 0..<60, using: &random)).map { _ in
          time += Int64.random(in: 1..<40, using: &random)
          return time
        }
      }
      let tolerance = Int64.random(in: 1..<30, using: &random)
      var order = series[0].map { _ in 0 } + series[1].map { _ in 1 }
      order.shuffle(using: &random)
      let found = outcomes(series, tolerance: tolerance, order: order)
      expectEqual(pairs(found), expected(series, tolerance: tolerance))
      // Each frame has one outcome.
      var counts = [0, 0]
      for outcome in found {
        switch outcome {
        case .pair: counts = counts.map { $0 + 1 }
        case .alone(let side, _): counts[side] += 1
        }
      }
      expectEqual(counts, series.map(\.count))
    }
  }

  @Test func aSourceThatGivesNothingDoesNotHoldTheOtherForEver() {
    let count = PairMatcher.capacity * 2
    let series: [[Int64]] = [(0..<count).map { Int64($0) * 10 }, []]
    var matcher = PairMatcher(tolerance: 1)
    var alone = 0
    for (index, time) in series[0].enumerated() {
      matcher.add(Item(number: UInt64(index), time: time), side: 0)
      while matcher.next() != nil { alone += 1 }
    }
    expectEqual(alone, count - PairMatcher.capacity + 1)
  }

  @Test func extremeTimesAreFarApart() {
    let found = outcomes([[.min], [.max]], tolerance: .max - 1, order: [0, 1])
    expectEmpty(pairs(found))
    expectEqual(found.count, 2)
  }

  @Test func quantilesAreThoseOfTheOffsets() {
    var statistics = PairStatistics(["a", "b"], tolerance: 5_000_000)
    for offset in 0..<1000 { statistics.addPair(nanoseconds: Int64(offset) * 1000) }
    expectEqual(statistics.pairs, 1000)
    expectEqual(statistics.least, 0)
    expectEqual(statistics.most, 999)
    expectLess(abs(statistics.quantile(0.5) - 499), 2.5)
    expectLess(abs(statistics.quantile(0.99) - 989), 2.5)
    expectLess(abs(statistics.mean - 499.5), 0.001)
  }
}
