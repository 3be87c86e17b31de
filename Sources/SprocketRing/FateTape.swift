// The fate tape: one small value for each of the last 65,536 running numbers, 0 for none.
//
// Contract (R10)
//
//  1. The source alone advances the tape. What falls off its end is counted, by value, in the totals.
//  2. Whoever knows the fate of a number sets it, and is told if the number has fallen off. A set is
//     never lost between the tape and the totals, and never lands on another number.
//  3. A reader gets a number's value, or nil once it has fallen off.
//
// An entry is one word: the number's lap around the tape (24 bits) and the value (8 bits). So an
// entry says itself whose it is: no reader has to look at the tape's end, and a set is a
// compare-and-swap that fails when the source has been there first. (With bare bytes a reader can
// check the tape's end after the entry; but a set that comes too late would land on the number one
// lap later, and the source could miss one between its load and its store.)
//
// Memory order. Values are stored with release and loaded with acquire, so who sees a fate sees what
// led to it. The totals are bracketed by two counters, `falling` (stored before) and `fallen` (stored
// after), all with release; a reader loads `fallen`, the totals, `falling`, all with acquire. Why no
// fence is needed: a reader that sees a total of a later advance has thereby acquired the `falling`
// stored before it, finds the two counters different, and reports no totals. One that sees `fallen`
// has acquired all the totals stored before it.

import Synchronization

/// The fates of the latest running numbers. Knows nothing of fates: they are values 0 to 15.
public final class FateTape: Sendable {
  /// How many different values there are, 0 (none yet) included.
  public static let valueCount = 16

  /// How many numbers are on the tape. A power of two.
  public let depth: Int
  private let lapShift: UInt64
  private let entries: Table<Atomic<UInt32>>
  private let totals: Table<Atomic<UInt64>>
  /// Numbers below it are off the tape, or about to be.
  private let falling = Atomic<UInt64>(0)
  /// The totals hold the values of exactly the numbers below it.
  private let fallen = Atomic<UInt64>(0)
  /// The number that comes next. Written by the source.
  private let head = Atomic<UInt64>(0)

  /// A tape of `depth` numbers, rounded up to a power of two; 65,536 are 256 kB.
  public init(depth: Int = 65_536) {
    precondition(depth >= 1 && depth <= 1 << 24, "A tape is 1 to 16,777,216 numbers deep")
    var capacity = 1
    while capacity < depth { capacity *= 2 }
    self.depth = capacity
    lapShift = UInt64(capacity.trailingZeroBitCount)
    // The lap before the first: nothing is on the tape.
    entries = Table(count: capacity) { _ in Atomic(FateTape.entry(lap: .max, value: 0)) }
    totals = Table(count: FateTape.valueCount) { _ in Atomic(0) }
  }

  /// The number that comes next: those below it are on the tape, or have fallen off.
  public var next: UInt64 { head.load(ordering: .acquiring) }

  /// Puts all numbers below `number` on the tape, with the value 0. For the source alone.
  ///
  /// Costs one exchange per number. Traps if the jump is longer than the tape: that begins an epoch.
  public func advance(to number: UInt64) {
    let first = head.load(ordering: .relaxed)
    precondition(number >= first, "The tape only moves forwards: a jump backwards begins an epoch")
    precondition(
      number - first <= UInt64(depth), "A jump longer than the tape (\(depth)) begins an epoch")
    let end = number > UInt64(depth) ? number - UInt64(depth) : 0
    falling.store(end, ordering: .releasing)
    for incoming in first..<number {
      let new = FateTape.entry(lap: incoming >> lapShift, value: 0)
      let old = entries[index(of: incoming)].exchange(new, ordering: .acquiringAndReleasing)
      if incoming >= UInt64(depth) {
        totals[Int(old & 0xFF)].add(1, ordering: .releasing)
      }
    }
    fallen.store(end, ordering: .releasing)
    head.store(number, ordering: .releasing)
  }

  /// Sets the value of `number`. False if it has fallen off (it was counted as it stood), or has not
  /// been put on the tape yet.
  public func set(_ number: UInt64, to value: UInt8) -> Bool {
    precondition(value < FateTape.valueCount, "Fate \(value): use 0 to \(FateTape.valueCount - 1)")
    let lap = FateTape.entry(lap: number >> lapShift, value: 0)
    var seen = entries[index(of: number)].load(ordering: .relaxed)
    while seen & ~0xFF == lap {
      let (isSet, current) = entries[index(of: number)].compareExchange(
        expected: seen, desired: lap | UInt32(value), successOrdering: .acquiringAndReleasing,
        failureOrdering: .relaxed)
      if isSet { return true }
      seen = current
    }
    return false
  }

  /// The value of `number`; nil if it has fallen off, or has not been put on the tape yet.
  public func value(of number: UInt64) -> UInt8? {
    let entry = entries[index(of: number)].load(ordering: .acquiring)
    guard entry & ~0xFF == FateTape.entry(lap: number >> lapShift, value: 0) else { return nil }
    return UInt8(truncatingIfNeeded: entry)
  }

  /// What has fallen off the tape.
  public struct Fallen: Sendable {
    /// The oldest number that is still on the tape: the totals are those of all below it.
    public var end: UInt64
    /// How many of them had each value.
    public var totals: InlineArray<16, UInt64>
  }

  /// Everything that has fallen off so far, or nil while the source is advancing: ask again.
  public func snapshotFallen() -> Fallen? {
    let end = fallen.load(ordering: .acquiring)
    let counts = InlineArray<16, UInt64> { totals[$0].load(ordering: .acquiring) }
    guard falling.load(ordering: .relaxed) == end else { return nil }
    return Fallen(end: end, totals: counts)
  }

  private func index(of number: UInt64) -> Int { Int(number & UInt64(depth - 1)) }

  private static func entry(lap: UInt64, value: UInt8) -> UInt32 {
    UInt32(truncatingIfNeeded: lap) << 8 | UInt32(value)
  }
}
