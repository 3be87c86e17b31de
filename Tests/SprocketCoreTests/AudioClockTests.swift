import CSprocketAllocations
import TestExpectations
import TestSupport
import Testing

@testable import SprocketCore

@Suite struct AudioClockTests {
  static let off = [0.0, 200, -200]

  private func card(_ partsPerMillion: Double, seed: UInt64, jitter: Double = 2e-3) -> SoundCard {
    var card = SoundCard(seed: seed)
    (card.partsPerMillion, card.jitter) = (partsPerMillion, jitter)
    (card.outlierShare, card.outlier) = (0.02, jitter > 0 ? 8e-3 : 0)
    return card
  }

  private func clock(rate: Int = 48_000) -> AudioClock {
    AudioClock(AudioFormat(number: .s16, rate: rate, channels: 2))
  }

  private func feed(_ clock: inout AudioClock, from card: inout SoundCard) {
    let status = card.next()
    clock.observe(
      .status(ahead: status.count, time: status.time), first: status.first, count: status.count,
      read: status.time)
  }

  /// Seconds that the line is off at that sample.
  private func error(_ clock: AudioClock, _ card: SoundCard, at sample: UInt64) -> Double {
    Double(clock.line.time(of: sample) - card.time(of: sample)) / 1e9
  }

  @Test func isExactOnADeviceThatIs() {
    for rate in [8000, 44_100, 192_000] {
      for off in Self.off {
        var (clock, card) = (clock(rate: rate), SoundCard())
        (card.rate, card.partsPerMillion, card.period) = (rate, off, rate / 100)
        for _ in 0..<7000 {
          feed(&clock, from: &card)
          guard clock.line.isMeasured else { continue }
          // The prior pulls the rate of a perfect device, too: 20 us of noise are assumed.
          expectLess(abs(error(clock, card, at: card.made)), 40e-6)
        }
        expectTrue(clock.line.isMeasured)
        expectLess(abs(clock.line.rate / card.trueRate - 1), 0.1e-6)
        expectLess(abs(error(clock, card, at: card.made)), 2e-6)
      }
    }
  }

  @Test(arguments: off)
  func placesAfterASecondAndMeasuresTheRateAfterTen(off: Double) {
    for seed in UInt64(1)...40 {
      var (clock, card) = (clock(), card(off, seed: seed))
      var (placed, measured): (UInt64?, UInt64?) = (nil, nil)
      var (worst, worstRate, lateRate) = (0.0, 0.0, 0.0)
      for _ in 0..<12_000 {
        feed(&clock, from: &card)
        if placed == nil, clock.line.isPlaced { placed = card.made }
        if measured == nil, clock.line.isMeasured { measured = card.made }
        guard clock.line.isPlaced else { continue }
        worst = max(worst, abs(error(clock, card, at: card.made)))
        let rateError = abs(clock.line.rate / card.trueRate - 1) * 1e6
        if clock.line.isMeasured { worstRate = max(worstRate, rateError) }
        if card.made > 70 * 48_000 { lateRate = max(lateRate, rateError) }
      }
      expectEqual(placed, 48_000)
      expectEqual(measured, 480_000)
      // One median of 50 observations is within 0.4 ms RMS, and a rate of ten seconds within 40 ppm RMS.
      expectLess(worst, 3e-3, "seed \(seed)")
      expectLess(worstRate, 170, "seed \(seed)")
      expectLess(lateRate, 12, "seed \(seed)")
    }
  }

  @Test func holdsForEarlierSamples() {
    var (clock, card) = (clock(), card(0, seed: 3))
    while !clock.line.isPlaced { feed(&clock, from: &card) }
    expectLess(abs(error(clock, card, at: 0)), 2e-3)
  }

  @Test(arguments: off) func keepsTheRateOverAGap(off: Double) {
    for seed in UInt64(1)...20 {
      var (clock, card) = (clock(), card(off, seed: seed))
      for _ in 0..<6500 { feed(&clock, from: &card) }
      card.lose(150_000)
      // What came of the gap's length is an estimate.
      card.start += 20_000_000
      let first = card.made
      clock.begin(segment: 1, first: first)
      expectFalse(clock.line.isPlaced)
      expectEqual(clock.line.segment, 1)
      expectEqual(clock.line.first, first)
      while !clock.line.isPlaced { feed(&clock, from: &card) }
      expectEqual(card.made, first + 48_000)
      expectTrue(clock.line.isMeasured)
      var worst = 0.0
      for _ in 0..<1000 {
        feed(&clock, from: &card)
        worst = max(worst, abs(error(clock, card, at: card.made)))
        expectLess(abs(clock.line.rate / card.trueRate - 1), 20e-6)
      }
      expectLess(worst, 2e-3)
    }
  }

  @Test func isNotMovedByOutliersOnOneSide() {
    var (clock, card) = (clock(), SoundCard())
    (card.outlierShare, card.jitter) = (0, 0.2e-3)
    for number in 0..<9000 {
      let status = card.next()
      // One in five is late by up to 60 ms.
      let late = number % 5 == 0 ? Int64(number % 61) * 1_000_000 : 0
      clock.observe(sample: card.made, time: status.time + late)
      if clock.line.isPlaced { expectLess(abs(error(clock, card, at: card.made)), 0.4e-3) }
    }
  }

  @Test func settlesAShortSegmentByWhatThereIs() {
    for count in [1, 3, 60, 99] {
      var (clock, card) = (clock(), card(0, seed: 9, jitter: 0.3e-3))
      for _ in 0..<count { feed(&clock, from: &card) }
      expectFalse(clock.line.isPlaced)
      clock.settle()
      expectTrue(clock.line.isPlaced)
      expectLess(abs(error(clock, card, at: 0)), 9e-3)
    }
    var clock = clock()
    clock.settle()
    expectFalse(clock.line.isPlaced)
  }

  @Test func believesExactTimes() {
    var clock = clock()
    clock.observe(.exact(7_000_000_000), first: 1000, count: 480, read: 1)
    expectTrue(clock.line.isPlaced)
    expectEqual(clock.line.time(of: 1480), 7_010_000_000)
    clock.begin(segment: 1, first: 9000)
    expectFalse(clock.line.isPlaced)
    clock.observe(.exact(9_000_000_000), first: 9000, count: 480, read: 1)
    expectEqual(clock.line.time(of: 9000), 9_000_000_000)
    expectEqual(clock.line.rate, 48_000)
  }

  @Test func takesTheTimeOfTheReadWhereADeviceGivesNone() {
    var (clock, card) = (clock(), card(0, seed: 5))
    for _ in 0..<7000 {
      let status = card.next()
      clock.observe(.unknown, first: status.first, count: status.count, read: status.time)
    }
    expectLess(abs(error(clock, card, at: card.made)), 2e-3)
  }

  @Test func takesAnyNumbers() {
    var random = TestRandom(seed: 4)
    var clock = clock()
    for number in UInt32(1)...20_000 {
      let sample = random.next() >> UInt64.random(in: 0..<64, using: &random)
      let time = Int64.random(in: .min ... .max, using: &random)
      clock.observe(sample: sample, time: time)
      _ = clock.line.time(of: sample)
      if number % 997 == 0 { clock.begin(segment: number, first: sample) }
    }
  }

  @Test func allocatesNothing() {
    var (clock, card) = (clock(), card(100, seed: 2))
    let statuses = (0..<9000).map { _ in card.next() }
    let before = sprocket_allocation_count()
    var number = 0
    while number < statuses.count {
      let (first, count, time) = statuses[number]
      clock.observe(.status(ahead: count, time: time), first: first, count: count, read: time)
      if number % 4000 == 3999 { clock.begin(segment: 2, first: first) }
      number += 1
    }
    let counted = sprocket_allocation_count() - before
    expectEqual(counted, 0)
  }
}

@Suite struct RobustLineTests {
  @Test func medianIsThatOfASortedList() {
    var random = TestRandom(seed: 8)
    for count in 1...300 {
      var numbers = (0..<count).map { _ in Double(Int.random(in: -50...50, using: &random)) }
      let sorted = numbers.sorted()
      expectEqual(numbers.median(of: count), (sorted[(count - 1) / 2] + sorted[count / 2]) / 2)
    }
  }

  /// Without outliers and with a weak prior it is the line of least squares.
  @Test func findsALineExactly() {
    var line = RobustLine(capacity: 10)
    // The first five points are replaced.
    for index in -5..<10 { line.add(x: Double(index), y: 3 - 0.25 * Double(index), deviation: 0) }
    let found = line.solve(slope: 0, deviation: 1e6)
    expectLess(abs(found.value - 0.75), 1e-9)
    expectLess(abs(found.slope + 0.25), 1e-9)
  }

  @Test func keepsToThePriorWithOnePoint() {
    var line = RobustLine(capacity: 10)
    line.add(x: 5, y: 2, deviation: 1e-3)
    let found = line.solve(slope: 1e-4, deviation: 1e-4)
    expectEqual(found.value, 2)
    expectEqual(found.slope, 1e-4)
  }

  @Test func passesOverAnOutlier() {
    var line = RobustLine(capacity: 100)
    for index in 0..<100 {
      let noise = index % 2 == 0 ? 1e-3 : -1e-3
      line.add(x: Double(index), y: index == 90 ? 10 : noise, deviation: 1e-3)
    }
    let found = line.solve(slope: 0, deviation: 1)
    expectLess(abs(found.value), 1e-3)
    expectLess(abs(found.slope), 2e-5)
  }
}
