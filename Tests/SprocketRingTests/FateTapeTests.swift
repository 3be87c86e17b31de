// The fate tape: entries that fall off are counted, none is lost, none lands on another number.

import SprocketRing
import Synchronization
import TestExpectations
import Testing

@Suite struct FateTapeTests {
  @Test func r10HoldsOneValuePerNumber() {
    let tape = FateTape(depth: 4)
    expectEqual(tape.depth, 4)
    expectNil(tape.value(of: 0))
    tape.advance(to: 3)
    expectEqual(tape.next, 3)
    expectEqual(tape.value(of: 0), 0)
    expectTrue(tape.set(1, to: 7))
    expectEqual(tape.value(of: 1), 7)
    expectEqual(tape.value(of: 2), 0)
    expectNil(tape.value(of: 3))
    expectFalse(tape.set(3, to: 1))
  }

  @Test func r10CountsWhatFallsOffByValue() {
    let tape = FateTape(depth: 4)
    for number in 0..<4 as Range<UInt64> {
      tape.advance(to: number + 1)
      expectTrue(tape.set(number, to: number == 2 ? 0 : 5))
    }
    expectEqual(tape.snapshotFallen()?.end, 0)
    tape.advance(to: 7)
    // 0, 1 and 2 have fallen off: two fives and a zero.
    let fallen = tape.snapshotFallen()
    expectEqual(fallen?.end, 3)
    expectEqual(fallen?.totals[0], 1)
    expectEqual(fallen?.totals[5], 2)
    expectNil(tape.value(of: 2))
    expectEqual(tape.value(of: 3), 5)
    expectEqual(tape.value(of: 4), 0)
  }

  @Test func r10SaysThatASetCameTooLate() {
    let tape = FateTape(depth: 4)
    tape.advance(to: 4)
    tape.advance(to: 5)
    expectFalse(tape.set(0, to: 3))
    expectEqual(tape.value(of: 4), 0)
    expectTrue(tape.set(1, to: 3))
    tape.advance(to: 9)
    expectEqual(tape.snapshotFallen()?.totals[3], 1)
    expectEqual(tape.snapshotFallen()?.totals[0], 4)
  }

  /// A source that advances by random steps, two threads that set at the very edge of the tape, one
  /// that reads: every value that was set is found once, on the tape or in the totals.
  @Test func r10LosesNoValueBetweenTapeAndTotals() {
    let run = TapeRun(count: stressed(100_000))
    let bodies: [@Sendable () -> [UInt64]] = [
      { run.advance() }, { run.set(0) }, { run.set(1) }, { run.read() },
    ]
    let counts = runThreads(bodies)
    expectEqual(run.faults.load(ordering: .relaxed), 0)
    expectGreater(run.snapshots.load(ordering: .relaxed), 0)
    expectEqual(run.found(), zip(counts[1], counts[2]).map(+))
    expectTrue(counts[1].reduce(0, +) > 0 && counts[2].reduce(0, +) > 0)
  }
}

private final class TapeRun: Sendable {
  static let depth: UInt64 = 64
  let tape = FateTape(depth: Int(depth))
  let count: UInt64
  let faults = Atomic<Int>(0)
  let snapshots = Atomic<Int>(0)

  init(count: UInt64) { self.count = count }

  /// Differs from lap to lap, so that a value on the wrong number shows.
  private func value(for number: UInt64) -> UInt8 { UInt8(1 + number / Self.depth % 15) }

  func advance() -> [UInt64] {
    var dice = Dice(seed: 1)
    while tape.next < count {
      tape.advance(to: min(count, tape.next + 1 + dice.next() % 8))
      dice.dawdle(oneIn: 2)
    }
    return []
  }

  /// Sets numbers of one parity when they are just about to fall off. Returns how many sets of each
  /// value were said to have succeeded.
  func set(_ parity: UInt64) -> [UInt64] {
    var dice = Dice(seed: 2 + Int(parity))
    var counts = [UInt64](repeating: 0, count: FateTape.valueCount)
    var number = parity
    while number < count {
      let next = tape.next
      if number + Self.depth < next { number = (next - Self.depth) & ~1 | parity }
      if next == count || number + Self.depth <= next + 8 {
        if tape.set(number, to: value(for: number)) { counts[Int(value(for: number))] += 1 }
        number += 2
      }
      dice.dawdle(oneIn: 16)
    }
    return counts
  }

  func read() -> [UInt64] {
    var dice = Dice(seed: 4)
    var previous: UInt64 = 0
    // Until one look has found all advanced and no change under way: on a busy machine each earlier look may
    // find one, and so may the first after the last advance.
    var isDone = false
    while !isDone {
      let next = tape.next
      let number = next - min(next, dice.next() % (Self.depth + 8))
      if let value = tape.value(of: number), value != 0, value != self.value(for: number) {
        faults.add(1, ordering: .relaxed)
      }
      guard let fallen = tape.snapshotFallen() else { continue }
      snapshots.add(1, ordering: .relaxed)
      let sum = fallen.totals.indices.reduce(0) { $0 + fallen.totals[$1] }
      if sum != fallen.end || fallen.end < previous { faults.add(1, ordering: .relaxed) }
      previous = fallen.end
      isDone = next == count
    }
    return []
  }

  /// How many of each value are on the tape or in the totals; 0 is left out.
  func found() -> [UInt64] {
    var found = [UInt64](repeating: 0, count: FateTape.valueCount)
    guard let fallen = tape.snapshotFallen() else { return [] }
    for value in found.indices { found[value] = fallen.totals[value] }
    for number in fallen.end..<tape.next {
      if let value = tape.value(of: number) { found[Int(value)] += 1 }
    }
    found[0] = 0
    return found
  }
}
