import FoundationEssentials
import SprocketTestMemory
import TestExpectations
import Testing

@testable import Sprocket
@testable import SprocketCommandLine

/// A machine in a session: how long it takes for the same work, and how noisy it is.
private struct Session {
  var speed = 1.0
  var noise = 0.005
  /// Rounds of 10 in which other programs make all frames up to half as slow again.
  var disturbed = 0

  func rounds(_ level: Double, _ random: inout TestRandom, count: Int = 10) -> [Double] {
    (0..<count).map { round in
      let share = round < disturbed ? Double.random(in: 0...0.5, using: &random) : 0
      let normal = (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &random)
      }
      return level * speed * (1 + noise * normal) * (1 + share)
    }
  }
}

/// A result of one case with one step.
private struct Measured {
  var low = [Double](repeating: 500, count: 10)
  var yardstick = [Double](repeating: 100, count: 10)
  var cpu = [Double](repeating: 520, count: 10)
  var frames: UInt64 = 200
  var others = 0.0
  var processor = "Abacus"
  var unpack = 0.1

  init() {}

  init(_ level: Double, _ session: Session, _ random: inout TestRandom) {
    low = session.rounds(level, &random)
    yardstick = session.rounds(100, &random)
    cpu = session.rounds(1.03 * level, &random)
  }

  init(_ level: Double) {
    low = low.map { _ in level }
    cpu = low
  }

  func result() throws -> BenchResult {
    let machine = """
      {"processor": "\(processor)", "cores": 2, "program": "a", "compiler": "b", "build": "c",
      "isOptimized": true}
      """
    func step(_ name: String, _ low: [Double], cpu: [Double]) -> BenchResult.Step {
      BenchResult.Step(
        name: name, wallMicroseconds: Rounds(low), cpuMicroseconds: Rounds(cpu),
        fastMicroseconds: Rounds(low), lowMicroseconds: Rounds(low), p50: 0, p90: 0, p99: 0,
        p999: 0,
        bytesRead: 0, bytesWritten: 0)
    }
    let unpacks = low.map { _ in unpack }
    let disturbance = low.map { _ in BenchDisturbance(others: others, stolen: 0, switches: 0) }
    let found = BenchResult.Case(
      chain: ["focus"], format: "NV12", width: 64, height: 48, workers: 1, frames: frames,
      pictures: 58, framesPerSecond: Rounds(low), cpuMicroseconds: Rounds(cpu),
      yardstick: Rounds(yardstick), peakMemory: nil, instructions: nil, cycles: nil,
      cacheMisses: nil, allocationsPerFrame: nil,
      steps: [step("unpack", unpacks, cpu: unpacks), step("focus", low, cpu: cpu)],
      disturbance: disturbance)
    return BenchResult(
      machine: try JSONDecoder().decode(BenchMachine.self, from: Data(machine.utf8)),
      source: "scene", loadAverage: [], notCounted: nil, cases: [found])
  }
}

private func comparison(
  _ before: Measured, _ now: Measured, limit: Double = 0.05
) throws -> BenchComparison {
  BenchComparison(of: try now.result(), with: try before.result(), path: "a.json", limit: limit)
}

@Suite struct StatisticsTests {
  @Test func theMedianAndTheSpreadLeaveOutliersOut() {
    let rounds = Rounds([10, 11, 9, 10, 1000])
    expectEqual(rounds.median, 10)
    expectEqual(rounds.spread, 0.1)
    expectTrue(Rounds([4]).median == 4 && Rounds([4]).spread == 0)
    expectEqual(Rounds([1, 2, 3, 4]).median, 2.5)
  }

  @Test func theLowerQuartileIsTypical() {
    expectEqual(Rounds([5, 1, 2, 3, 4]).typical, 2)
    expectEqual(Rounds([1, 1, 1, 90, 90, 90, 90]).typical, 1)
    expectEqual(Rounds([]).typical, 0)
  }

  @Test func percentilesLieWithinTheirBucket() {
    let buckets = [
      DurationBucket(longest: 0.064, count: 10), DurationBucket(longest: 12.8, count: 10),
    ]
    expectLess(abs(buckets.interpolated(25) - 0.032), 1e-12)
    expectEqual(buckets.interpolated(100), 12.8)
    expectLess(abs(buckets.interpolated(75) - 12.75), 1e-12)
    expectEqual([DurationBucket]().interpolated(10), 0)
  }

  /// Sessions differ by 1 % in speed, which the yardstick sees.
  @Test(arguments: [0, 0.03, 0.1, 0.3])
  func plantedChangesAreJudgedRightOnAnIdleMachine(share: Double) throws {
    var random = TestRandom(seed: 1)
    var undecided = 0
    for _ in 0..<25 {
      func session() -> Session { Session(speed: .random(in: 0.99...1.01, using: &random)) }
      let (first, second) = (session(), session())
      let found = try comparison(
        Measured(500, first, &random), Measured(500 * (1 + share), second, &random))
      expectTrue(found.verdict != (share > 0.05 ? .unchanged : .slower))
      if found.verdict == .undecided { undecided += 1 }
    }
    expectAtMost(undecided, share == 0.03 ? 12 : 1)
  }

  /// The two sides may be disturbed in different rounds, and the machine as a whole by up to a half.
  @Test(arguments: [0, 0.03, 0.1, 0.3])
  func plantedChangesAreNeverJudgedWrongOnABusyMachine(share: Double) throws {
    var random = TestRandom(seed: 2)
    for _ in 0..<25 {
      func session() -> Session {
        Session(
          speed: .random(in: 1...1.5, using: &random), noise: 0.01,
          disturbed: .random(in: 0...6, using: &random))
      }
      let (first, second) = (session(), session())
      let found = try comparison(
        Measured(500, first, &random), Measured(500 * (1 + share), second, &random))
      expectTrue(found.verdict != (share > 0.05 ? .unchanged : .slower))
    }
  }

  /// On the slower machine a step may take three times as much longer as the yardstick.
  @Test func aSlowerMachineIsNoSlowerStep() throws {
    var slower = Measured(580)
    slower.yardstick = slower.yardstick.map { 1.06 * $0 }
    let found = try comparison(Measured(500), slower)
    expectEqual(found.verdict, .undecided)
    expectTrue(found.steps[1].reason?.contains("1.06 times as long") ?? false)
    var fast = Measured(500)
    fast.yardstick = fast.yardstick.map { 0.5 * $0 }
    expectEqual(try comparison(Measured(500), fast).verdict, .undecided)
    expectEqual(try comparison(Measured(5), slower).verdict, .slower)
  }

  @Test func theIntervalHoldsTheChangeAndTheLimitDecides() throws {
    let step = try comparison(Measured(500), Measured(550)).steps[1]
    expectLess(abs((step.change ?? 0) - 0.1), 1e-9)
    expectTrue(step.low ?? 1 < 0.1 && step.high ?? 0 > 0.1)
    expectEqual(try comparison(Measured(500), Measured(550), limit: 0.2).verdict, .unchanged)
    expectEqual(try comparison(Measured(500), Measured(550), limit: 0.1).verdict, .undecided)
    expectEqual(try comparison(Measured(550), Measured(500)).verdict, .unchanged)
  }

  @Test func roundsOfOtherLengthsAreComparedIfTheyShowAllPictures() throws {
    var longer = Measured(550)
    longer.frames = 58
    expectEqual(try comparison(Measured(500), longer).verdict, .slower)
    longer.frames = 57
    let found = try comparison(Measured(500), longer)
    expectEqual(found.verdict, .undecided)
    expectTrue(found.steps[1].reason?.contains("58 are needed") ?? false)
  }

  @Test func shortStepsDecideNothingUntilTheyTakeLong() throws {
    var long = Measured(500)
    long.unpack = 0.3
    let found = try comparison(Measured(500), long)
    expectEqual(found.verdict, .unchanged)
    expectEqual(found.steps[0].verdict, nil)
    long.unpack = 30
    expectEqual(try comparison(Measured(500), long).steps[0].verdict, .slower)
    expectEqual(try comparison(Measured(0.3), Measured(0.3)).verdict, .undecided)
  }

  /// A slow frame in five leaves the quickest tenth as they are.
  @Test func whatOnlyTheProcessorTimeShowsIsNotUnchanged() throws {
    var now = Measured(500)
    now.cpu = now.cpu.map { 1.1 * $0 }
    expectEqual(try comparison(Measured(500), now).verdict, .undecided)
  }

  /// Frames that take several of the scheduler's turns all wait for a core.
  @Test func waitingForACoreIsNotSlower() throws {
    var busy = Measured(1000)
    busy.cpu = busy.cpu.map { _ in 505 }
    expectEqual(try comparison(Measured(500), busy).verdict, .slower)
    busy.others = 1
    expectEqual(try comparison(Measured(500), busy).verdict, .undecided)
    expectEqual(try comparison(busy, Measured(550)).verdict, .undecided)
  }

  @Test func whatCannotBeComparedIsUndecided() throws {
    var few = Measured(500)
    few.low.removeLast()
    expectEqual(try comparison(Measured(500), few).verdict, .undecided)
    var other = Measured(500)
    other.processor = "Pascaline"
    let found = try comparison(Measured(500), other)
    expectEqual(found.verdict, .undecided)
    expectTrue(found.notes.contains { $0.hasPrefix("another processor") })
  }
}
