import TestExpectations
import TestSupport
import Testing

@testable import SprocketCore

/// Times that are made of a driver's stamps, against the truth.
@Suite struct StampClockTests {
  /// 29.97 frames/s, in nanoseconds, and what lies between capture and arrival: 8 ms, and up to 5 ms more.
  private static let period = 33_366_667.0
  private static let transfer: Int64 = 8_000_000
  private static let jitter: Int64 = 5_000_000
  private static let start: Int64 = 3_000_000_000_000

  /// What a driver says of a frame that was captured then.
  private enum Fault: String, CaseIterable, Sendable {
    case zero, wrapped, realtime, still, backwards, ownClock
  }

  private struct Simulation {
    var clock = StampClock()
    var random = TestRandom(seed: 1)
    var sequence: UInt64 = 7
    var errors: [Int64] = []
    var repaired: [Bool] = []

    /// Runs frames; `stamp` is made of the truth.
    mutating func run(
      _ count: Int, jittered: Int64 = 0, losing: Bool = false,
      _ stamp: (_ truth: Int64) -> StampClock.Stamp
    ) {
      for _ in 0..<count {
        sequence += losing && UInt8.random(in: 0..<10, using: &random) == 0 ? 3 : 1
        let truth = start + Int64(Double(sequence) * period)
        let late = Int64.random(in: 0...StampClockTests.jitter, using: &random)
        var said = stamp(truth)
        if jittered > 0 {
          said.nanoseconds += Int64.random(in: -jittered...jittered, using: &random)
        }
        let (time, isRepaired) = clock.time(
          of: said, sequence: sequence, arrival: truth + transfer + late)
        errors.append(abs(time - truth))
        repaired.append(isRepaired)
      }
    }

    func percentile(_ part: Double, of range: Range<Int>) -> Int64 {
      let sorted = errors[range].sorted()
      return sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
    }
  }

  private static func stamp(_ fault: Fault, _ truth: Int64) -> StampClock.Stamp {
    let time: Int64 =
      switch fault {
      case .zero: 0
      case .wrapped: truth + 4_294_967_296_000
      case .realtime: truth + 1_790_000_000_000_000_000
      case .still: 17
      case .backwards: 2 * start - truth - 10_000_000_000
      case .ownClock: truth - start + 1
      }
    return StampClock.Stamp(time, isMonotonic: fault != .realtime)
  }

  @Test func goodStampsAreTakenAsTheyAre() {
    var simulation = Simulation()
    simulation.run(300, losing: true) { StampClock.Stamp($0, isMonotonic: true) }
    expectTrue(simulation.errors.allSatisfy { $0 == 0 })
    expectFalse(simulation.repaired.contains(true))
    expectEqual(simulation.clock.repaired, 0)
    expectLess(simulation.clock.jitter, 1000)
  }

  /// After 300 good ones, 600 with a fault, then good ones again: within 1 ms at p99, and trusted at once.
  @Test(arguments: Fault.allCases, [false, true])
  private func faultsAreRepaired(_ fault: Fault, _ losing: Bool) {
    var simulation = Simulation()
    simulation.run(300, losing: losing) { StampClock.Stamp($0, isMonotonic: true) }
    simulation.run(600, losing: losing) { Self.stamp(fault, $0) }
    simulation.run(50, losing: losing) { StampClock.Stamp($0, isMonotonic: true) }
    expectLess(simulation.percentile(0.99, of: 300..<900), 1_000_000)
    expectLess(simulation.percentile(1, of: 300..<900), 3_000_000)
    expectTrue(simulation.repaired[300..<900].allSatisfy { $0 })
    expectTrue(simulation.repaired[900...].allSatisfy { !$0 })
    expectEqual(simulation.clock.repaired, 600)
    expectTrue(simulation.errors[900...].allSatisfy { $0 == 0 })
  }

  /// Without a good stamp the transfer is not known: times are late by it, and by no more than 1 ms beside
  /// it.
  @Test(arguments: Fault.allCases)
  private func streamsWithoutAGoodStampAreSmooth(_ fault: Fault) {
    var simulation = Simulation()
    simulation.run(1000) { Self.stamp(fault, $0) }
    let late = simulation.errors[50...].map { $0 - Self.transfer }
    expectTrue(late.allSatisfy { abs($0) < 1_500_000 })
    expectLess(late.map(abs).sorted()[940], 1_000_000)
  }

  /// Stamps that are right but for 5 ms are taken as they are, and the jitter is told. What fails among
  /// them is on the line through them.
  @Test func jitterIsToldAndNotRepaired() {
    var simulation = Simulation()
    for _ in 0..<20 {
      simulation.run(100, jittered: 5_000_000) { StampClock.Stamp($0, isMonotonic: true) }
      simulation.run(5) { _ in StampClock.Stamp(0, isMonotonic: true) }
    }
    // Of the difference of two uniform numbers in -5...5 the mean is 10 / 3.
    expectTrue((2_000_000...5_000_000).contains(simulation.clock.jitter))
    let faults = (2..<20).flatMap { round -> ArraySlice<Int64> in
      simulation.errors[round * 105 + 100..<round * 105 + 105]
    }
    expectLess(faults.sorted()[faults.count * 9 / 10], 1_000_000)
  }

  @Test func aChangeOfRateIsFollowed() {
    var simulation = Simulation()
    simulation.run(200) { _ in StampClock.Stamp(0, isMonotonic: true) }
    // The rate halves: each number takes twice as long.
    var (clock, errors) = (simulation.clock, [Int64]())
    let turn = Self.start + Int64(Double(simulation.sequence) * Self.period)
    for step in 1...100 {
      let truth = turn + Int64(Double(step) * 2 * Self.period)
      let (time, _) = clock.time(
        of: StampClock.Stamp(0, isMonotonic: true), sequence: simulation.sequence + UInt64(step),
        arrival: truth + Self.transfer)
      errors.append(abs(time - truth - Self.transfer))
    }
    expectTrue(errors[10...].allSatisfy { $0 < 1_500_000 })
  }

  /// Repaired times that were late by a long transfer hold up the right stamps behind them: no time goes
  /// back, and what was held up is marked.
  @Test func whatIsHeldUpIsMarked() {
    var clock = StampClock()
    var (last, held) = (Int64.min, 0)
    for number in 0..<40 as Range<UInt64> {
      let truth = Self.start + Int64(Double(number) * Self.period)
      let (time, isRepaired) = clock.time(
        of: StampClock.Stamp(number < 5 ? 0 : truth, isMonotonic: true), sequence: number,
        arrival: truth + 150_000_000)
      expectAtLeast(time, last)
      expectTrue((isRepaired || time == truth))
      if isRepaired { held += 1 }
      last = time
    }
    expectTrue((6...10).contains(held))
    expectEqual(clock.repaired, UInt64(held))
  }

  /// A program that was stopped for a minute takes what the driver had kept: its stamps are right.
  @Test func framesThatWaitedKeepTheirStamps() {
    var simulation = Simulation()
    simulation.run(100) { StampClock.Stamp($0, isMonotonic: true) }
    for step in 1...8 {
      let truth = Self.start + Int64(Double(simulation.sequence + UInt64(step)) * Self.period)
      let found = simulation.clock.time(
        of: StampClock.Stamp(truth, isMonotonic: true),
        sequence: simulation.sequence + UInt64(step), arrival: truth + 60_000_000_000)
      #expect(found == (truth, false))
    }
  }

  /// Numbers that begin again begin a new stream; times go on.
  @Test func aStreamThatBeginsAgainIsANewOne() {
    var simulation = Simulation()
    simulation.run(100) { StampClock.Stamp($0, isMonotonic: true) }
    let now = Self.start + 3_600_000_000_000
    let found = simulation.clock.time(
      of: StampClock.Stamp(0, isMonotonic: true), sequence: 0, arrival: now)
    #expect(found == (now, true))
  }

  @Test(arguments: [Int64.min, -1, 1, Int64.max])
  func noStampIsOutOfBounds(_ stamp: Int64) {
    var clock = StampClock()
    for sequence: UInt64 in [0, 1, 5, .max - 1, .max, 0] {
      let (time, _) = clock.time(
        of: StampClock.Stamp(stamp, isMonotonic: sequence != 1), sequence: sequence,
        arrival: Self.start + Int64(sequence % 7))
      expectAtMost(time, Self.start + 7)
    }
  }
}
