import SprocketTimes
import TestExpectations
import Testing

private let second: Int64 = 1_000_000_000

@Suite struct TimeGateTests {
  /// Times of packets of two streams, as a list of (stream, seconds), and what became of them.
  private func pass(
    _ packets: [(Int, Double)], frame: Double = 0.04, turn: Double? = nil
  ) -> (times: [Double], verdicts: [TimeGate.Verdict], gate: TimeGate) {
    var gate = TimeGate()
    let passed = packets.map { stream, time in
      gate.pass(
        Int128((time * 1e9).rounded()), length: Int64(frame * 1e9), stream: stream,
        turn: turn.map { Int128(($0 * 1e9).rounded()) })
    }
    return (passed.map { Double($0.time) / 1e9 }, passed.map(\.verdict), gate)
  }

  @Test func aLegalGapIsKeptExactly() {
    let day = 86_400.0
    let times: [Double] = [-1.5, 0, 0.04, 11, 3600, 14 * 3600, day, 20 * day, 43.9 * day]
    let (passed, verdicts, gate) = pass(times.map { (0, $0) })
    expectEqual(passed, times)
    expectEqual(verdicts, Array(repeating: .kept, count: times.count))
    expectEmpty(gate.notes(of: "x"))
  }

  @Test func aJumpAheadBeginsAnEpochWhereTheStreamsEnd() {
    let (times, verdicts, gate) = pass([
      (0, 0), (1, 0), (0, 0.04), (1, 0.02), (0, 4e6), (1, 0.06), (0, 4e6 + 0.04), (1, 4e6),
      (1, 4e6 + 0.02),
    ])
    expectEqual(times, [0, 0, 0.04, 0.02, 0.08, 0.06, 0.12, 0.08, 0.1])
    expectEqual(verdicts[4], .epoch)
    expectEqual(verdicts[5], .kept)
    expectEqual(verdicts[7], .joined)
    expectEqual(
      gate.notes(of: "x"),
      ["the clock of x jumps from 0.040 s to 4000000.000 s; time goes on at 0.080 s"])
  }

  @Test func anEpochBeginsBehindTheStreamThatEndsLast() {
    let (times, verdicts, _) = pass([(0, 0), (1, 0), (0, 10), (1, 12), (0, 4e6), (1, 4e6)])
    expectEqual(verdicts[4...], [.epoch, .joined])
    expectEqual(times[4...], [12.04, 12.04])
  }

  @Test func aClockThatBeginsAnewGoesOn() {
    let (times, verdicts, _) = pass([
      (0, 5), (1, 5.01), (0, 5.04), (1, 5.03), (0, 5), (0, 5.04), (1, 5.01), (1, 5.03),
    ])
    expectEqual(verdicts, [.kept, .kept, .kept, .kept, .repaired, .kept, .repaired, .kept])
    expectEqual(times, [5, 5.01, 5.04, 5.03, 5.04, 5.04, 5.03, 5.03])
    let (later, kinds, gate) = pass([
      (0, 5), (1, 5.01), (0, 5.96), (1, 5.93), (0, 5), (0, 5.04), (1, 5.01), (1, 5.03),
    ])
    expectEqual(kinds[4...6], [.epoch, .kept, .joined])
    expectEqual(later.suffix(4), [6, 6.04, 6.01, 6.03])
    expectEqual(gate.jumpCount, 1)
  }

  @Test func aClockThatWrapsGoesOnWithoutANote() {
    let turn = 95_443.717688
    let (times, verdicts, gate) = pass(
      [(0, turn - 0.02), (1, turn - 0.01), (0, 0.02), (1, 0.03), (0, 0.06)], turn: turn)
    expectEqual(verdicts, Array(repeating: .kept, count: 5))
    expectTrue(
      zip(times, [-0.02, -0.01, 0.02, 0.03, 0.06]).allSatisfy { abs($0 - turn - $1) < 1e-6 })
    expectEqual(gate.jumpCount, 0)
  }

  @Test func aWrappingClockHasShorterGaps() {
    let (kept, _, _) = pass([(0, 0), (0, 3599)], turn: 95_443)
    expectEqual(kept, [0, 3599])
    let (closed, verdicts, _) = pass([(0, 0), (0, 50_000)], turn: 95_443)
    expectEqual(closed, [0, 0.04])
    expectEqual(verdicts[1], .epoch)
  }

  @Test func aFirstTimeThatNobodyCanAddToBeginsAtZero() {
    for time in [Int128(1) << 70, -(Int128(1) << 70), Int128(Int64.max), Int128(Int64.min)] {
      var gate = TimeGate()
      expectEqual(gate.pass(time, stream: 0).time, 0)
      expectEqual(gate.pass(time + 40_000_000, stream: 0).time, 40_000_000)
      expectEqual(gate.offset(ofStream: 0), -time)
    }
  }

  /// Any times of two streams: they never go back, legal gaps are exact, and what was given out is left as it
  /// is.
  @Test func anyTimesPass() {
    var random = SystemRandomNumberGenerator.Seeded(31)
    var steps = 0
    while steps < 1_000_000 {
      let turn: Int128? = random.next() % 3 == 0 ? 95_443_717_688_889 : nil
      let bound =
        turn == nil ? TimeGate.longestGap : TimeGate.longestGapOfWrappingClock
      var gate = TimeGate()
      var again = TimeGate()
      var clock = Int128(Int64(truncatingIfNeeded: random.next()) >> (random.next() % 60))
      var last: [Int: (input: Int128, output: Int64, offset: Int128)] = [:]
      for _ in 0..<200 {
        let stream = Int(random.next() % 2)
        clock += step(&random)
        let time = clock - Int128(random.next() % 300_000_000)
        let length = Int64(random.next() % 3) * 20_000_000
        let passed = gate.pass(time, length: length, stream: stream, turn: turn)
        expectAtMost(abs(passed.time), TimeGate.limit)
        if let before = last[stream] {
          expectAtLeast(passed.time, before.output)
          let gap = time - before.input
          if passed.verdict == .kept, passed.offset == before.offset, gap >= 0, gap <= bound,
            abs(passed.time) < TimeGate.limit, Int128(before.output) == before.input + before.offset
          {
            expectEqual(Int128(passed.time - before.output), gap)
          }
        }
        last[stream] = (time, passed.time, passed.offset)
        // The second gate has no wrapping clock: it must allow all gaps that the first one gave out.
        let second = again.pass(Int128(passed.time), length: length, stream: stream)
        expectEqual(second.time, passed.time)
        expectEqual(second.offset, 0)
        steps += 1
      }
    }
  }

  private func step(_ random: inout SystemRandomNumberGenerator.Seeded) -> Int128 {
    let far = Int128(Int64(truncatingIfNeeded: random.next()) >> (random.next() % 63))
    switch random.next() % 16 {
    case 0: return far
    case 1: return far * 1_000_000
    case 2: return -Int128(random.next() % 40_000_000_000)
    case 3: return Int128(random.next() % UInt64(TimeGate.longestGap))
    case 4: return -95_443_717_688_889
    default: return Int128(random.next() % 80_000_000)
    }
  }
}

extension SystemRandomNumberGenerator {
  /// SplitMix64: the same numbers for a seed.
  fileprivate struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }
}
